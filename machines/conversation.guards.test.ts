import { describe, expect, it } from "vitest";
import type { ConversationEvent } from "@chartroom/domain";
import {
  cancelled,
  type ChartOptions,
  conversationIn,
  events,
  idOf,
  openConversation,
  type OpenConversation,
  restored,
  type State,
} from "./test/conversation-chart.ts";

/* Each part of a guard decides something: what the guard lets through but for that part alone. */

type Case = readonly [
  what: string,
  state: State,
  options: ChartOptions & { readonly kind?: "turn" | "summarize" },
  before: readonly ConversationEvent[],
  event: ConversationEvent,
];

const stale: readonly Case[] = [
  ["prepared, of a summarize Run", "pre", { kind: "summarize" }, [], { type: "prepared", runId: "old", joins: 0 }],
  ["model.completed, inbox filled", "str", {}, [events.filled("border")], events.of("model.completed", "old")],
  [
    "compaction.committed, inbox filled",
    "cco",
    {},
    [events.filled("border")],
    events.of("compaction.committed", "old"),
  ],
  [
    "compaction.committed, of a summarize Run",
    "cco",
    { kind: "summarize" },
    [],
    events.of("compaction.committed", "old"),
  ],
  ["step.recorded, inbox says now", "rec", {}, [events.filled("now")], { ...events.recorded(), runId: "old" }],
  [
    "tool.settled, the last at the step limit",
    "wat",
    { input: { maxSteps: 1 } },
    [],
    { ...events.settled(0), runId: "old" },
  ],
  [
    "tool.settled, the last, inbox filled",
    "wat",
    {},
    [events.filled("border")],
    { ...events.settled(0), runId: "old" },
  ],
];

describe("what a guard asks", () => {
  it.each(stale)("I3 of another Run: %s", (_, state, options, before, event) => {
    const chart = conversationIn(state, options);
    chart.send(...before);
    const seen = () => [chart.state, { ...chart.context }, chart.ports.length];
    const was = seen();
    chart.send(event);
    expect(seen()).toEqual(was);
  });

  it("I8, I11 calls that are open are waited for, at the step limit and with rows in the inbox too", () => {
    const limited = conversationIn("wat", { input: { maxSteps: 1 } });
    limited.send(events.settled(1));
    expect([limited.state, limited.context.openCalls, limited.context.outcome]).toEqual([idOf("wat"), 1, null]);
    const filled = conversationIn("wat");
    filled.send(events.filled("border"), events.settled(1));
    expect([filled.state, filled.context.openCalls]).toEqual([idOf("wat"), 1]);
  });

  it("I9 an urgency with nothing that joins stops no calls", () => {
    const chart = conversationIn("rec");
    chart.send(events.filled("now", 0), events.recorded());
    expect([chart.state, chart.context.joins]).toEqual([idOf("wat"), 0]);
  });

  it("I16 a stop that was flagged ends a Run; where none lives there is nothing to end", () => {
    const chart = conversationIn("res");
    chart.send(restored(chart, "idle", { stop: cancelled }));
    expect([chart.state, chart.context.outcome]).toEqual([idOf("idl"), null]);
  });
});

/** That of a Run which was requested in a conversation that never had one. */
function conversationContext(runId: string): OpenConversation["context"] {
  const chart = conversationIn("idl");
  chart.send(events.requested(runId));
  return chart.context;
}

describe("the context after the last Run", () => {
  /** From the end of the work to rest, by ways on which no port succeeds more than it must. */
  function rest(chart: OpenConversation): OpenConversation {
    if (chart.state === idOf("cpt")) chart.send({ type: "port.failed", port: "commitCheckpoint" });
    chart.send(events.of("run.finalized"), events.of("run.closed"));
    return chart;
  }
  const ways: readonly (readonly [string, () => OpenConversation])[] = [
    [
      "calls were open and a deadline ran",
      () => {
        const chart = conversationIn("wat");
        chart.send(events.of("cancel"));
        return chart;
      },
    ],
    [
      "the provider had asked for a delay",
      () => {
        const chart = conversationIn("ret");
        chart.send(events.of("cancel"));
        return chart;
      },
    ],
    [
      "an inbox row had asked for its Step",
      () => {
        const chart = conversationIn("idl");
        chart.send(events.requested("r1", { asked: true }), { type: "prepare.failed", runId: "r1", code: "INTERNAL" });
        return chart;
      },
    ],
    [
      "it was to summarize, and its stream was lost",
      () => {
        const chart = conversationIn("sum", { kind: "summarize" });
        chart.send(events.parked(), events.of("cancel"));
        return chart;
      },
    ],
    [
      "it had compacted, and was read",
      () => {
        const chart = conversationIn("cco");
        chart.send(events.of("compaction.committed"), events.of("cancel"));
        return chart;
      },
    ],
  ];

  it.each(ways)("I6 is that of a conversation that never had one: %s", (_, end) => {
    const never = openConversation();
    never.actor.start();
    never.send(restored(never, "idle"));
    const chart = rest(end());
    expect(chart.state).toBe(idOf("idl"));
    expect(chart.context).toEqual(never.context);
  });

  it("I6, I16 does not pass to the next Run, whatever was stored", () => {
    const chart = openConversation();
    chart.actor.start();
    const left = { step: 4, attempt: 2, compacted: true, openCalls: 1, callDeadline: 9, parkDeadline: 5 };
    chart.send(restored(chart, "idle", left), events.requested("r1"));
    expect(chart.context).toEqual(conversationContext("r1"));
  });

  it("I5 one that waits has no deadline of the one that it replaced", () => {
    const chart = conversationIn("str");
    chart.send(events.requested("r2"), events.parked("r2"), events.requested("r3"));
    expect(chart.context).toMatchObject({ nextRunId: "r3", nextAttached: false, nextParkDeadline: 0 });
  });
});
