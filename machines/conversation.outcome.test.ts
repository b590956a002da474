import { describe, expect, it } from "vitest";
import type { ConversationEvent } from "@chartroom/domain";
import {
  active,
  bounds,
  commits,
  completed,
  conversationIn,
  ending,
  events,
  expired,
  idOf,
  type State,
  stops,
  withRun,
} from "./test/conversation-chart.ts";

describe("outcome", () => {
  it.each(active.flatMap((state) => stops.map(([type, outcome]) => ({ state, type, outcome }))))(
    "I2 $type in $state decides it, at once",
    ({ state, type, outcome }) => {
      const chart = conversationIn(state);
      chart.send(events.of(type));
      expect([chart.state, chart.context.outcome, chart.context.stop]).toEqual([idOf("cpt"), outcome, null]);
    },
  );

  it.each(ending.flatMap((state) => stops.map(([type]) => ({ state, type }))))(
    "I2, C1 $type in $state leaves it as it is, and the state",
    ({ state, type }) => {
      const chart = conversationIn(state);
      const ports = chart.ports.length;
      chart.send(events.of(type));
      expect([chart.state, chart.context.outcome, chart.ports.length]).toEqual([idOf(state), completed, ports]);
    },
  );

  it("I2 causes inside a Run: completed, failed with the port's code, at a limit, by a port's own error", () => {
    const decided = (state: State, ...by: readonly ConversationEvent[]) => {
      const chart = conversationIn(state, { input: { maxSteps: 1 } });
      chart.send(...by);
      return [chart.context.outcome?.kind, chart.context.outcome?.code];
    };
    expect(decided("str", events.of("model.completed"))).toEqual(["completed", null]);
    expect(decided("str", events.failed(false))).toEqual(["failed", "PROVIDER_SERVER"]);
    expect(decided("pre", { type: "prepare.failed", runId: "r1", code: "MODEL_NOT_FOUND" })).toEqual([
      "failed",
      "MODEL_NOT_FOUND",
    ]);
    expect(decided("pre", { type: "port.failed", port: "prepare" })).toEqual(["failed", "PREPARE_FAILED"]);
    expect(decided("sum", { type: "compaction.failed", runId: "r1", code: "PROVIDER_AUTH" })).toEqual([
      "failed",
      "PROVIDER_AUTH",
    ]);
    expect(decided("wat", events.settled(0))).toEqual(["failed", "STEP_LIMIT"]);
    expect(decided("wat", { type: "port.failed", port: "dispatchTools" })).toEqual(["failed", "INTERNAL"]);
    const again = conversationIn("cco");
    again.send(events.of("compaction.committed"), events.of("model.overflowed"));
    expect(again.context.outcome).toEqual({ kind: "failed", code: "CONTEXT_TOO_LONG" });
    const summary = conversationIn("cco", { kind: "summarize" });
    summary.send(events.of("compaction.committed"));
    expect(summary.context.outcome).toEqual(completed);
  });

  it.each([
    ["pre", "prepare", "PREPARE_FAILED"],
    ["str", "streamModel", "INTERNAL"],
    ["sum", "summarize", "INTERNAL"],
    ["cco", "commitCompaction", "INTERNAL"],
    ["rec", "recordStep", "INTERNAL"],
    ["wat", "dispatchTools", "INTERNAL"],
    ["exp", "expireCalls", "INTERNAL"],
    ["sto", "stopWork", "INTERNAL"],
    ["app", "appendInbox", "INTERNAL"],
  ] as const)("I2, I14 in %s a %s that throws fails the Run with %s", (state, throws, code) => {
    expect(conversationIn(state, { throws }).context.outcome).toEqual({ kind: "failed", code });
  });

  it.each([
    ["pre", "prepareLimit", "PREPARE_TIMEOUT"],
    ["gat", "parkedGateLimit", "PARK_EXPIRED"],
    ["str", "modelLimit", "PROVIDER_TIMEOUT"],
    ["cga", "parkedGateLimit", "PARK_EXPIRED"],
    ["sum", "modelLimit", "PROVIDER_TIMEOUT"],
    ["sto", "interruptLimit", "INTERNAL"],
  ] as const)("I2, I13 in %s the bound %s fails the Run with %s", (state, bound, code) => {
    const chart = conversationIn(state);
    chart.clock.increment(bounds[bound]);
    expect(chart.context.outcome).toEqual({ kind: "failed", code });
  });

  it.each([
    ["cpt", "commitCheckpoint"],
    ["pub", "publishCheckpoint"],
  ] as const)("I14 in %s a %s that throws leaves the outcome and goes on to finalizing", (state, throws) => {
    const chart = conversationIn(state, { throws });
    expect([chart.state, chart.context.outcome]).toEqual([idOf("fin"), completed]);
  });
});

describe("commit substates", () => {
  /** What ends each. */
  const done: Readonly<Record<string, ConversationEvent>> = {
    cco: events.of("compaction.committed"),
    rec: events.recorded(),
    app: events.joined(1),
  };
  it.each(commits.flatMap((state) => stops.map(([type, outcome]) => ({ state, type, outcome }))))(
    "I7 $type in $state waits for the commit, then stops the Run",
    ({ state, type, outcome }) => {
      const chart = conversationIn(state);
      chart.send(events.of(type));
      expect([chart.state, chart.context.outcome, chart.context.stop]).toEqual([idOf(state), null, outcome]);
      const event = done[state];
      if (event) chart.send(event);
      expect([chart.state, chart.context.outcome, chart.context.stop]).toEqual([idOf("cpt"), outcome, null]);
    },
  );

  it.each(commits)("I7 in %s the first stop wins, also over a failure of the port", (state) => {
    const chart = conversationIn(state);
    chart.send(events.of("park.expired"), events.of("cancel"), events.of("run.superseded"));
    chart.send({ type: "port.failed", port: "any" });
    expect(chart.context.outcome).toEqual(expired);
    const failed = conversationIn(state);
    failed.send({ type: "port.failed", port: "any" });
    expect(failed.context.outcome).toEqual({ kind: "failed", code: "INTERNAL" });
  });

  it.each(commits)("I7 in %s a stop of another Run is not flagged", (state) => {
    const chart = conversationIn(state);
    for (const [type] of stops) chart.send(events.of(type, "other"));
    expect(chart.context.stop).toBeNull();
  });

  it.each([...commits, "cpt", "fin"] as const)("C4 in %s no event starts the commit again", (state) => {
    const chart = conversationIn(state);
    const ports = chart.ports.length;
    chart.send(events.requested("r2"), events.filled("now"), events.attached(), events.parked(), { type: "passivate" });
    for (const [type] of stops) chart.send(events.of(type), events.of(type, "r2"));
    expect([chart.state, chart.ports.length]).toEqual([idOf(state), ports]);
  });
});

describe("stale events", () => {
  const scoped: readonly ConversationEvent[] = [
    ...stops.map(([type]) => events.of(type, "old")),
    { type: "run.attached", runId: "old" },
    { type: "run.parked", runId: "old", parkDeadline: 5 },
    { type: "prepared", runId: "old", joins: 3 },
    { type: "prepare.failed", runId: "old", code: "INTERNAL" },
    { type: "model.toolCalls", runId: "old", calls: 1 },
    events.of("model.completed", "old"),
    { type: "model.failed", runId: "old", code: "INTERNAL", retryable: true, retryAfterMs: 1 },
    { type: "model.failed", runId: "old", code: "INTERNAL", retryable: false, retryAfterMs: 0 },
    events.of("model.overflowed", "old"),
    events.of("compaction.summarized", "old"),
    events.of("compaction.committed", "old"),
    { type: "compaction.failed", runId: "old", code: "INTERNAL" },
    { type: "step.recorded", runId: "old", open: 9, callDeadline: 9 },
    { type: "tool.settled", runId: "old", callId: "c", open: 0, callDeadline: 9 },
    { type: "tool.settled", runId: "old", callId: "c", open: 9, callDeadline: 9 },
    { type: "tool.renewed", runId: "old", callDeadline: 9 },
    events.of("work.stopped", "old"),
    { type: "interrupt.settled", runId: "old", joins: 0 },
    { type: "interrupt.settled", runId: "old", joins: 2 },
    events.of("checkpoint.committed", "old"),
    { type: "checkpoint.published", runId: "old", delivered: true },
    events.of("run.finalized", "old"),
    events.of("run.closed", "old"),
  ];

  it.each(withRun)("I3 in %s an event of another Run changes nothing", (state) => {
    for (const conditions of [[], [events.requested("r2")], [events.of("cancel")]] as const)
      for (const event of scoped) {
        const chart = conversationIn(state);
        chart.send(...conditions);
        const before = { state: chart.state, context: chart.context, ports: chart.ports.length, runs: chart.children };
        chart.send(event);
        expect(
          { state: chart.state, context: chart.context, ports: chart.ports.length, runs: chart.children },
          event.type,
        ).toEqual(before);
      }
  });

  it.each(withRun)("I3 in %s an event of the waiting Run that only a current one can have changes nothing", (state) => {
    for (const event of scoped) {
      if (event.type === "run.attached" || event.type === "run.parked") continue;
      if (event.type === "park.expired" || event.type === "capacity.evicted" || event.type === "cancel") continue;
      const chart = conversationIn(state);
      chart.send(events.requested("old"));
      const before = { state: chart.state, context: chart.context };
      chart.send(event);
      expect({ state: chart.state, context: chart.context }, event.type).toEqual(before);
    }
  });
});

describe("order of the end", () => {
  it("I1 every way to the terminal leads through the checkpoint and the outcome's commit", () => {
    const ways: readonly (readonly [State, readonly ConversationEvent[]])[] = [
      ["str", [events.of("model.completed")]],
      ["wat", [events.of("cancel")]],
      ["gat", [events.of("park.expired")]],
    ];
    for (const [state, list] of ways) {
      const chart = conversationIn(state);
      const before = chart.ports.length;
      chart.send(...list, events.of("checkpoint.committed"));
      if (chart.state === idOf("pub")) chart.send({ type: "checkpoint.published", runId: "r1", delivered: true });
      chart.send(events.of("run.finalized"), events.of("run.closed"));
      const names = chart.ports.slice(before).map(({ name }) => name);
      expect(names.filter((name) => name !== "publishCheckpoint")).toEqual([
        "commitCheckpoint",
        "finalizeRun",
        "closeRun",
      ]);
      expect(chart.state).toBe(idOf("idl"));
    }
  });

  it("I1 a Run that could not be prepared has no checkpoint to commit, but an outcome", () => {
    const chart = conversationIn("pre");
    chart.send({ type: "prepare.failed", runId: "r1", code: "MODEL_NOT_FOUND" });
    expect(chart.working).toEqual(["finalizeRun"]);
  });

  it("I1 at most one port of the Run's end works at a time, and stops when its state is left", () => {
    const chart = conversationIn("clo");
    expect(chart.ports.filter(({ live }) => live).map(({ name }) => name)).toEqual(["closeRun"]);
  });
});
