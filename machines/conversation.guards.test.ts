import { describe, expect, it } from "vitest";
import type { ConversationEvent } from "@chartroom/domain";
import {
  active,
  bounds,
  cancelled,
  type ChartOptions,
  commits,
  conversationIn,
  ending,
  events,
  expired,
  idOf,
  openConversation,
  type OpenConversation,
  restored,
  type State,
  states,
} from "./test/conversation-chart.ts";
import { runBounds, runIn, type RunState, runStates } from "./test/run-chart.ts";

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

describe("what is noted on the way", () => {
  it.each(["str", "ret", "cga", "sum", "wat"] as const)(
    "I9 in %s a row that stops what runs is counted, with its urgency",
    (state) => {
      const chart = conversationIn(state);
      chart.send(events.filled("now", 3));
      expect([chart.state, chart.context.joins, chart.context.urgency]).toEqual([idOf("sto"), 3, "now"]);
    },
  );

  it("I8 rows that wait while a Run is prepared to summarize join behind the summary", () => {
    const chart = conversationIn("pre", { kind: "summarize" });
    chart.send(events.prepared(2));
    expect([chart.state, chart.context.joins]).toEqual([idOf("sum"), 2]);
  });

  it("I5 of the Run that waits: a transport that comes takes its deadline away, one that goes is noted", () => {
    const chart = conversationIn("str");
    chart.send(events.requested("r2"), events.parked("r2"), events.attached("r2"));
    expect(chart.context).toMatchObject({ nextAttached: true, nextParkDeadline: 0 });
    chart.send(events.parked("r2"));
    expect(chart.context).toMatchObject({ nextAttached: false, nextParkDeadline: 900_000 });
  });

  it("I7 a flagged stop is carried out once: nothing is flagged behind it", () => {
    const chart = conversationIn("cco");
    chart.send(events.of("cancel"), { type: "port.failed", port: "commitCompaction" });
    expect(chart.context).toMatchObject({ outcome: cancelled, stop: null });
  });

  it.each<readonly [string, readonly ConversationEvent[]]>([
    ["a stop", [events.of("run.superseded")]],
    ["a port's failure", [events.attached(), events.failed(false)]],
  ])("I2 an outcome that was stored stays: %s", (_, after) => {
    const chart = conversationIn("res");
    chart.send(restored(chart, "modeling", { outcome: cancelled }), ...after);
    expect([chart.state, chart.context.outcome]).toEqual([idOf("cpt"), cancelled]);
  });

  it("I2, I16 an outcome that was stored stays, whatever was flagged besides", () => {
    const chart = conversationIn("res");
    chart.send(restored(chart, "modeling", { outcome: cancelled, stop: expired }));
    expect([chart.state, chart.context.outcome]).toEqual([idOf("cpt"), cancelled]);
  });

  it("I11 the Step that completes a Run forgets its attempts and who asked for it", () => {
    const chart = conversationIn("app");
    chart.send(events.joined(), events.failed(true));
    chart.clock.increment(bounds.retryDelay);
    expect(chart.context).toMatchObject({ attempt: 1, asked: true });
    chart.send(events.of("model.completed"));
    expect([chart.state, chart.context.attempt, chart.context.asked]).toEqual([idOf("cpt"), 0, false]);
  });

  it("I18 the calls of the last report are known on every way out", () => {
    const after = (state: State, options: ChartOptions, ...list: readonly ConversationEvent[]) => {
      const chart = conversationIn(state, options);
      chart.send(...list);
      return [chart.state, chart.context.openCalls, chart.context.callDeadline];
    };
    const { callDeadline } = bounds;
    expect(after("rec", {}, events.of("cancel"), events.recorded(2))).toEqual([idOf("cpt"), 2, callDeadline]);
    expect(after("rec", {}, events.filled("now"), events.recorded(2))).toEqual([idOf("sto"), 2, callDeadline]);
    const limit = { input: { maxSteps: 1 } };
    expect(after("wat", limit, events.settled(0))).toEqual([idOf("cpt"), 0, callDeadline]);
    expect(after("wat", {}, events.settled(0))).toEqual([idOf("str"), 0, callDeadline]);
    const renewed: ConversationEvent = { type: "tool.renewed", runId: "r1", callDeadline: 3 * callDeadline };
    expect(after("exp", {}, renewed)).toEqual([idOf("wat"), 2, 3 * callDeadline]);
  });

  it("I7 rows that joined before a flagged stop is carried out have joined", () => {
    const chart = conversationIn("app");
    chart.send(events.of("cancel"), events.joined(0));
    expect([chart.state, chart.context.joins, chart.context.urgency]).toEqual([idOf("cpt"), 0, "border"]);
  });

  it("I11 a compaction that is committed is counted, also when the Run ends with it", () => {
    const stopped = conversationIn("cco");
    stopped.send(events.of("cancel"), events.of("compaction.committed"));
    const summarized = conversationIn("cco", { kind: "summarize" });
    summarized.send(events.of("compaction.committed"));
    for (const chart of [stopped, summarized])
      expect([chart.state, chart.context.compacted]).toEqual([idOf("cpt"), true]);
  });
});

describe("tags", () => {
  it("say which states carry a Run out, which end it, and which commit", () => {
    const having = (tag: "active" | "ending" | "commit"): readonly string[] =>
      (Object.keys(states) as State[]).filter((state) => conversationIn(state).actor.getSnapshot().hasTag(tag));
    expect(having("active").toSorted()).toEqual([...active, ...commits].toSorted());
    expect(having("ending").toSorted()).toEqual([...ending].toSorted());
    expect(having("commit").toSorted()).toEqual([...commits, "cpt", "fin"].toSorted());
  });

  it("say in which states a Run's stream is open", () => {
    const open = (Object.keys(runStates) as RunState[]).filter((state) =>
      runIn(state).actor.getSnapshot().hasTag("open"),
    );
    expect(open).toEqual(["opn", "act", "prk", "clm"]);
  });
});

describe("the context of a Run's stream", () => {
  it("R1 a transport that comes is noted", () => {
    const run = runIn("opn");
    expect(run.context.attached).toBe(false);
    run.send({ type: "transport.attached" });
    expect(run.context.attached).toBe(true);
  });

  it("R1 behind a claim nothing of the parking is left", () => {
    const run = runIn("opn");
    run.pass(1_000);
    run.lose();
    expect(run.context.parkedAt).toBe(1_000);
    run.send({ type: "claim" }, { type: "replay.finished" });
    expect(run.context).toMatchObject({ attached: true, parkedAt: 0, parkDeadline: 0 });
  });

  it("R1 a Run that ends by a reason of its own has no transport any more", () => {
    const run = runIn("act", "consumed");
    run.lose();
    expect([run.state, run.context.attached, run.context.reason]).toEqual(["closed", false, "stream-error"]);
  });

  it.each([
    ["opn", { type: "claim" }],
    ["prk", { type: "claim" }],
    ["prk", { type: "transport.attached" }],
  ] as const)("R1 from %s a claim brings a transport", (state, event) => {
    const run = runIn(state);
    run.send(event);
    expect([run.state, run.context.attached]).toEqual(["claimed", true]);
  });

  it("R8 a replay that took too long leaves nothing of the parking, and one chain of beats", () => {
    const run = runIn("clm");
    run.clock.increment(runBounds.claimLimit);
    expect(run.state).toBe("active");
    expect(run.context).toMatchObject({ attached: true, parkedAt: 0, parkDeadline: 0 });
    const beside = runIn("act");
    beside.send({ type: "claim" });
    beside.pass(runBounds.claimLimit);
    const before = beside.heartbeats.length;
    beside.pass(4 * runBounds.heartbeatMs);
    expect(beside.heartbeats).toHaveLength(before + 4);
  });

  it("R11 a Run that loses its transport while it is claimed is told as parked, and beats no more", () => {
    const run = runIn("act");
    run.send({ type: "claim" });
    const before = run.reports.length;
    run.lose();
    const beats = run.heartbeats.length;
    run.pass(4 * runBounds.heartbeatMs);
    expect(run.reports.slice(before)).toEqual([{ type: "run.parked", runId: "r1", parkDeadline: runBounds.parkMs }]);
    expect(run.heartbeats).toHaveLength(beats);
    expect(run.unhandled).toEqual([]);
  });

  it("R18 what it tells names the Run", () => {
    const run = runIn("act");
    const told: unknown[] = [];
    run.actor.on("heartbeat", (event) => told.push(event));
    run.pass(runBounds.heartbeatMs);
    run.lose();
    run.send({ type: "evict" });
    expect(told).toEqual([{ type: "heartbeat", runId: "r1" }]);
    expect(run.reports.at(-1)).toEqual({ type: "capacity.evicted", runId: "r1" });
  });
});
