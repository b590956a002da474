import { describe, expect, it } from "vitest";
import {
  active,
  bounds,
  bringTo,
  cancelled,
  commits,
  completed,
  conversationIn,
  events,
  expired,
  idOf,
  restored,
  type State,
  states,
  stops,
  withRun,
} from "./test/conversation-chart.ts";

describe("transports", () => {
  it.each([...active, ...commits, "cpt", "fin", "clo"] as const)(
    "I4 in %s losing one changes no outcome and stops no port, and its deadline is noted",
    (state) => {
      const chart = conversationIn(state);
      const { outcome } = chart.context;
      const { working } = chart;
      chart.send({ type: "run.parked", runId: "r1", parkDeadline: 123 });
      expect([chart.state, chart.working]).toEqual([idOf(state === "pre" ? "prp" : state), working]);
      expect(chart.context).toMatchObject({ attached: false, parkDeadline: 123, outcome, stop: null });
    },
  );

  it.each(withRun.filter((state) => state !== "gat" && state !== "cga"))(
    "I4 in %s one that comes back is noted and takes the deadline away",
    (state) => {
      const chart = conversationIn(state === "pub" ? "cpt" : state);
      chart.send(events.parked(), events.attached());
      if (state === "pub") bringTo(chart, "pub");
      expect(chart.context).toMatchObject({ attached: true, parkDeadline: 0 });
    },
  );

  it("I4 the bound of preparing counts while a transport is attached, and anew for each that takes over", () => {
    const chart = conversationIn("pre");
    const { prepareLimit, parkedGateLimit } = bounds;
    chart.clock.increment(prepareLimit - 1);
    chart.send(events.parked());
    chart.clock.increment(parkedGateLimit - 1);
    expect([chart.state, chart.working]).toEqual([idOf("prp"), ["prepare"]]);
    chart.send(events.attached());
    chart.clock.increment(prepareLimit - 1);
    chart.send(events.attached());
    chart.clock.increment(prepareLimit - 1);
    expect([chart.state, chart.working]).toEqual([idOf("pre"), ["prepare"]]);
    chart.clock.increment(1);
    expect([chart.state, chart.context.outcome]).toEqual([idOf("fin"), { kind: "failed", code: "PREPARE_TIMEOUT" }]);
  });

  it("I4 a Run whose client never comes back to its preparing ends by its park deadline", () => {
    const chart = conversationIn("prp");
    chart.clock.increment(bounds.parkedGateLimit);
    expect([chart.state, chart.context.outcome]).toEqual([idOf("cpt"), expired]);
  });

  it("I4 in publishing losing the transport ends the wait for acknowledgements, not the Run", () => {
    const chart = conversationIn("pub");
    chart.send({ type: "run.parked", runId: "r1", parkDeadline: 123 });
    expect([chart.state, chart.context.outcome, chart.working]).toEqual([idOf("fin"), completed, ["finalizeRun"]]);
    expect(chart.context).toMatchObject({ attached: false, parkDeadline: 123 });
  });

  it("I4 a superseded Run does not wait for its client's acknowledgements", () => {
    const chart = conversationIn("str");
    chart.send(events.of("run.superseded"), events.of("checkpoint.committed"));
    expect(chart.ports.map(({ name }) => name)).not.toContain("publishCheckpoint");
    expect(chart.state).toBe(idOf("fin"));
  });

  it("I10 no model call begins without a transport; one that comes opens the gate", () => {
    for (const state of ["gat", "cga"] as const) {
      const chart = conversationIn(state);
      const before = chart.ports.length;
      expect(chart.working).toEqual([]);
      chart.send(events.attached("r2"), events.attached("old"));
      expect(chart.ports).toHaveLength(before);
      chart.send(events.attached());
      expect(chart.working).toEqual([state === "gat" ? "streamModel" : "summarize"]);
      expect(chart.context).toMatchObject({ attached: true, parkDeadline: 0 });
    }
  });

  it("I10 an inbox row asks for one Step, not for those behind it", () => {
    const chart = conversationIn("app");
    chart.send(events.parked(), events.joined(0));
    expect([chart.state, chart.context.asked]).toEqual([idOf("str"), true]);
    chart.send(events.failed(true));
    chart.clock.increment(bounds.retryDelay);
    expect([chart.state, chart.context.step]).toEqual([idOf("str"), 2]);
    chart.send({ type: "model.toolCalls", runId: "r1", calls: 1 }, events.recorded(1), events.settled(0));
    expect([chart.state, chart.context.asked]).toEqual([idOf("gat"), false]);
  });

  it("I10 a Run that the inbox opened is asked for, one that waited too; a Run of a client is not", () => {
    const asked = conversationIn("idl");
    asked.send(events.requested("r1", { asked: true }), events.prepared());
    expect(asked.state).toBe(idOf("str"));
    const waited = conversationIn("clo");
    waited.send(events.requested("r2", { asked: true }), events.of("run.closed"));
    expect(waited.context).toMatchObject({ runId: "r2", asked: true, nextAsked: false });
    const replaced = conversationIn("clo");
    replaced.send(events.requested("r2", { asked: true }), events.requested("r3"), events.of("run.closed"));
    expect(replaced.context).toMatchObject({ runId: "r3", asked: false });
  });

  it("I10 the model pass in flight goes on without one, and its retry waits", () => {
    const chart = conversationIn("str");
    chart.send(events.parked());
    expect(chart.working).toEqual(["streamModel"]);
    chart.send(events.failed(true));
    chart.clock.increment(bounds.retryDelay);
    expect([chart.state, chart.working]).toEqual([idOf("gat"), []]);
  });
});

describe("Runs", () => {
  it("I12 a request in idle spawns the Run's child with what was asked", () => {
    const chart = conversationIn("idl");
    chart.send(events.requested("r1", { parkDeadline: 77 }));
    expect(chart.runs.map(({ input }) => input)).toEqual([
      { runId: "r1", direction: "served", parkDeadline: 77, restored: false },
    ]);
  });

  it.each(withRun)("I5, I12 in %s one may wait; a newer one replaces it, and the replaced one is told", (state) => {
    const chart = conversationIn(state);
    chart.send(events.requested("r2", { kind: "summarize", followUp: true }), events.attached("r2"));
    expect(chart.context).toMatchObject({
      runId: "r1",
      nextRunId: "r2",
      nextRunKind: "summarize",
      nextAttached: true,
      followUp: true,
    });
    expect(chart.children).toEqual(["r1", "r2"]);
    expect(chart.emitted).toEqual([]);
    chart.send(events.requested("r3"));
    expect(chart.context).toMatchObject({
      runId: "r1",
      nextRunId: "r3",
      nextRunKind: "turn",
      nextAttached: false,
      nextAsked: false,
      nextParkDeadline: 0,
      followUp: false,
    });
    expect(chart.children).toEqual(["r1", "r3"]);
    expect(chart.emitted).toEqual([{ type: "waiting.replaced", runId: "r2" }]);
  });

  it.each(
    withRun.flatMap((state) =>
      stops.filter(([type]) => type !== "run.superseded").map(([type, outcome]) => ({ state, type, outcome })),
    ),
  )("I5 in $state $type of the Run that waits ends it alone", ({ state, type, outcome }) => {
    const chart = conversationIn(state);
    chart.send(events.requested("r2", { followUp: true }), events.parked("r2"));
    expect(chart.context).toMatchObject({ nextAttached: false, nextParkDeadline: 900_000 });
    chart.send(events.of(type, "r2"));
    expect(chart.state).toBe(idOf(state));
    expect(chart.context).toMatchObject({ runId: "r1", nextRunId: null, followUp: false, nextParkDeadline: 0 });
    expect(chart.children).toEqual(["r1"]);
    expect(chart.emitted).toEqual([
      type === "cancel"
        ? { type: "waiting.cancelled", runId: "r2" }
        : { type: "waiting.expired", runId: "r2", code: outcome.code },
    ]);
  });

  it("I6 the one that waits begins at the end of the other, with what was reported of it and nothing of the other", () => {
    const chart = conversationIn("cco");
    chart.send(events.of("compaction.committed"), events.of("model.completed"), events.filled("now", 2));
    chart.send(events.requested("r2", { kind: "summarize", followUp: true, asked: true }), events.attached("r2"));
    chart.send(events.of("checkpoint.committed"), { type: "checkpoint.published", runId: "r1", delivered: true });
    chart.send(events.of("run.finalized"), events.of("run.closed"));
    expect(chart.state).toBe(idOf("pre"));
    expect(chart.context).toEqual({
      conversationId: "c",
      fence: 7,
      maxAttempts: 3,
      maxSteps: 20,
      runId: "r2",
      runKind: "summarize",
      step: 0,
      attempt: 0,
      retryAfterMs: 0,
      compacted: false,
      openCalls: 0,
      attached: true,
      asked: true,
      joins: 2,
      urgency: "border",
      nextRunId: null,
      nextRunKind: "turn",
      nextAttached: false,
      nextAsked: false,
      followUp: false,
      outcome: null,
      stop: null,
      callDeadline: 0,
      parkDeadline: 0,
      nextParkDeadline: 0,
      release: null,
    });
    expect(chart.children).toEqual(["r2"]);
    expect(chart.ports.at(-1)).toMatchObject({ name: "prepare", input: { conversationId: "c", runId: "r2", step: 0 } });
  });

  it("I6 one that waits without a transport begins parked, with its deadline", () => {
    const chart = conversationIn("clo");
    chart.send(events.requested("r2"), { type: "run.parked", runId: "r2", parkDeadline: 55 }, events.of("run.closed"));
    expect(chart.context).toMatchObject({ runId: "r2", attached: false, parkDeadline: 55 });
  });

  it("I6, I12 after the last one nothing of it is left but what waits in the inbox", () => {
    const chart = conversationIn("clo");
    chart.send(events.filled("now", 1), events.of("run.closed"));
    expect(chart.state).toBe(idOf("idl"));
    expect(chart.context).toMatchObject({
      runId: null,
      runKind: "turn",
      step: 0,
      attempt: 0,
      compacted: false,
      openCalls: 0,
      attached: false,
      joins: 1,
      urgency: "border",
      outcome: null,
      stop: null,
      callDeadline: 0,
      parkDeadline: 0,
    });
    expect(chart.children).toEqual([]);
  });

  it("I6 a Run after another begins anew", () => {
    const chart = conversationIn("clo");
    chart.send(events.of("run.closed"), events.requested("r9", { kind: "summarize" }));
    expect(chart.context).toMatchObject({ runId: "r9", runKind: "summarize", step: 0, attached: false, outcome: null });
    expect(chart.children).toEqual(["r9"]);
  });
});

describe("ownership", () => {
  const all = (Object.keys(states) as State[]).filter((state) => state !== "rel");
  it.each(all)("I15 in %s a lost fence, and a store that stays away, end the activation and nothing else", (state) => {
    for (const [type, reason] of [
      ["fence.lost", "fence-lost"],
      ["store.unavailable", "store-unavailable"],
    ] as const) {
      const chart = conversationIn(state);
      const ports = chart.ports.length;
      chart.send({ type });
      expect([chart.state, chart.release, chart.context.release]).toEqual([idOf("rel"), reason, reason]);
      expect([chart.working, chart.children, chart.ports.length]).toEqual([[], [], ports]);
      expect(chart.actor.getSnapshot().status).toBe("done");
    }
  });

  it.each([
    ["res", "restoreLimit", "store-unavailable"],
    ["idl", "passivateAfter", "passivated"],
    ["cco", "commitLimit", "store-unavailable"],
    ["rec", "commitLimit", "store-unavailable"],
    ["exp", "commitLimit", "store-unavailable"],
    ["app", "commitLimit", "store-unavailable"],
    ["cpt", "commitLimit", "store-unavailable"],
    ["fin", "commitLimit", "store-unavailable"],
    ["clo", "closeLimit", "port-failed"],
  ] as const)("I13, I15 in %s the bound %s ends the activation as %s", (state, bound, reason) => {
    const chart = conversationIn(state);
    chart.clock.increment(bounds[bound]);
    expect(chart.release).toBe(reason);
  });

  it.each([
    ["res", "restore", "restore-failed"],
    ["fin", "finalizeRun", "port-failed"],
    ["clo", "closeRun", "port-failed"],
  ] as const)("I14 in %s a %s that throws ends the activation as %s", (state, throws, reason) => {
    expect(conversationIn(state, { throws }).release).toBe(reason);
  });

  it.each([
    ["res", "restore-failed"],
    ["fin", "port-failed"],
    ["clo", "port-failed"],
  ] as const)("I14 in %s a port that gives up ends the activation as %s", (state, reason) => {
    const chart = conversationIn(state);
    chart.send({ type: "port.failed", port: "any" });
    expect(chart.release).toBe(reason);
  });

  it("C2 it leaves memory only when nothing works and nobody reads", () => {
    for (const state of all) {
      const chart = conversationIn(state);
      chart.send({ type: "passivate" });
      expect([state, chart.state === idOf("rel")]).toEqual([state, ["idl", "prp", "gat"].includes(state)]);
      if (chart.state === idOf("rel")) expect(chart.release).toBe("passivated");
    }
    for (const state of ["wat", "exp"] as const) {
      const chart = conversationIn(state);
      chart.send(events.parked(), { type: "passivate" });
      expect(chart.release).toBe("passivated");
    }
  });
});

describe("restore", () => {
  const stored = {
    fence: 3,
    conversationId: "other",
    maxAttempts: 99,
    maxSteps: 99,
    attached: true,
    asked: true,
    joins: 0,
    compacted: true,
    release: "passivated" as const,
  };

  it.each(["preparing", "modeling", "waitingTools", "interrupting", "checkpointing", "finalizing"] as const)(
    "I16 to %s: what was stored, without a transport, under this activation's own fence and limits",
    (resume) => {
      const chart = conversationIn("res");
      chart.send(restored(chart, resume, stored));
      expect(chart.context).toMatchObject({
        runId: "r1",
        step: 2,
        compacted: true,
        parkDeadline: 500_000,
        conversationId: "c",
        fence: 7,
        maxAttempts: 3,
        maxSteps: 20,
        attached: false,
        asked: false,
        release: null,
      });
      expect(chart.runs.map(({ input }) => input)).toEqual([
        { runId: "r1", direction: "served", parkDeadline: 500_000, restored: true },
      ]);
    },
  );

  it("I12, I16 the Run that waited waits again, with a child of its own", () => {
    const chart = conversationIn("res");
    chart.send(restored(chart, "finalizing", { nextRunId: "r2", nextAttached: true, nextParkDeadline: 600_000 }));
    expect(chart.children).toEqual(["r1", "r2"]);
    expect(chart.runs[1]?.input).toEqual({
      runId: "r2",
      direction: "served",
      parkDeadline: 600_000,
      restored: true,
    });
    chart.send(events.of("run.finalized"), events.of("run.closed"));
    expect(chart.context).toMatchObject({ runId: "r2", attached: false, parkDeadline: 600_000 });
    expect(chart.children).toEqual(["r2"]);
  });

  it("I16 to idle: no Run, no child", () => {
    const chart = conversationIn("res");
    chart.send(restored(chart, "idle", { joins: 2 }));
    expect([chart.state, chart.children, chart.context.joins]).toEqual([idOf("idl"), [], 2]);
  });

  it("I16 a stop that was flagged when the node died is carried out", () => {
    const chart = conversationIn("res");
    chart.send(restored(chart, "waitingTools", { stop: cancelled }));
    expect([chart.state, chart.context.outcome, chart.children]).toEqual([idOf("cpt"), cancelled, ["r1"]]);
  });

  it("I10, I16 no model is called for a Run that nobody came back for", () => {
    const chart = conversationIn("res");
    chart.send(restored(chart, "modeling"));
    chart.clock.increment(bounds.parkedGateLimit);
    expect(chart.ports.map(({ name }) => name)).toEqual(["restore", "commitCheckpoint"]);
    const summary = conversationIn("res");
    summary.send(restored(summary, "preparing", { runKind: "summarize" }), events.prepared());
    expect([summary.state, summary.working]).toEqual([idOf("cga"), []]);
  });

  it("I16 a failed restore ends the activation", () => {
    const chart = conversationIn("res");
    chart.send({ type: "restore.failed" });
    expect(chart.release).toBe("restore-failed");
  });
});
