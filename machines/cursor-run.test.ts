import { describe, expect, it } from "vitest";
import type { RunCloseReason } from "@chartroom/domain";
import { cursorRunMachine } from "./cursor-run.machine.ts";
import { openRun, type OpenRun, runBounds, runIn, type RunState, runStates } from "./test/run-chart.ts";

const open: readonly RunState[] = ["opn", "act", "prk", "clm"];
const reasonOf = (run: OpenRun): string | null => run.context.reason;

describe("served: attach and park", () => {
  it("R1 a transport that comes is reported once, and the heartbeat begins", () => {
    const run = runIn("act");
    expect(run.reports).toEqual([{ type: "run.attached", runId: "r1" }]);
    run.clock.increment(runBounds.heartbeatMs);
    expect(run.heartbeats).toEqual([runBounds.heartbeatMs]);
  });

  it("R2 losing it parks, never closes; the deadline is told, and the heartbeat stops", () => {
    const run = runIn("act");
    run.clock.increment(1_000);
    run.lose();
    const parkDeadline = 1_000 + runBounds.parkMs;
    expect([run.state, reasonOf(run)]).toEqual(["parked", null]);
    expect(run.context).toMatchObject({ attached: false, parkedAt: 1_000, parkDeadline });
    expect(run.reports.at(-1)).toEqual({ type: "run.parked", runId: "r1", parkDeadline });
    run.clock.increment(10 * runBounds.heartbeatMs);
    expect(run.heartbeats).toEqual([]);
  });

  it("R3 a transport that never comes parks after the bound, with the deadline of the request", () => {
    const run = openRun({ parkDeadline: 1_234_567 });
    run.clock.increment(runBounds.openingLimit);
    expect(run.state).toBe("parked");
    expect(run.reports).toEqual([{ type: "run.parked", runId: "r1", parkDeadline: 1_234_567 }]);
    run.clock.increment(1_234_567 - runBounds.openingLimit);
    expect(run.reports.at(-1)).toEqual({ type: "park.expired", runId: "r1" });
  });

  it("R3 one that goes before it was attached parks too", () => {
    const run = openRun();
    run.lose();
    expect([run.state, run.reports.length]).toEqual(["parked", 1]);
  });

  it("R4 a restored Run is parked with its stored deadline and says nothing until it passes", () => {
    const run = openRun({ restored: true, parkDeadline: 50_000 });
    expect([run.state, run.reports]).toEqual(["parked", []]);
    run.clock.increment(49_999);
    expect(run.state).toBe("parked");
    run.clock.increment(1);
    expect([run.state, reasonOf(run), run.reports]).toEqual([
      "closed",
      "park-ttl",
      [{ type: "park.expired", runId: "r1" }],
    ]);
  });

  it("R5 the deadline reports once and closes", () => {
    const run = runIn("prk");
    run.clock.increment(runBounds.parkMs);
    expect(run.reports.filter(({ type }) => type === "park.expired")).toHaveLength(1);
    expect([run.state, reasonOf(run)]).toEqual(["closed", "park-ttl"]);
    run.send({ type: "claim" });
    expect(run.state).toBe("closed");
  });
});

describe("served: claim", () => {
  it("R6 a claim is synchronous: the Run is claimed before `send` returns, and its park timer is gone", () => {
    const run = runIn("prk");
    run.send({ type: "claim" });
    expect([run.state, run.context.attached]).toEqual(["claimed", true]);
    run.clock.increment(runBounds.claimLimit - 1);
    expect(run.state).toBe("claimed");
    run.send({ type: "replay.finished" });
    run.clock.increment(2 * runBounds.parkMs);
    expect(run.state).toBe("active");
    expect(run.reports.map(({ type }) => type)).toEqual(["run.attached", "run.parked", "run.attached"]);
    expect(run.context).toMatchObject({ attached: true, parkedAt: 0, parkDeadline: 0 });
  });

  it("R6 also from an attached, half-open transport; the second of two claims wins nothing more", () => {
    const run = runIn("act");
    run.send({ type: "claim" }, { type: "claim" });
    expect(run.state).toBe("claimed");
    run.send({ type: "replay.finished" });
    expect(run.state).toBe("active");
  });

  it("R6 also before the Run's own transport came", () => {
    const run = openRun();
    run.send({ type: "claim" }, { type: "replay.finished" });
    expect([run.state, run.reports.map(({ type }) => type)]).toEqual(["active", ["run.attached"]]);
  });

  it("R6 a claim in the last moment wins over the deadline, one behind it loses", () => {
    const early = runIn("prk");
    early.clock.increment(runBounds.parkMs - 1);
    early.send({ type: "claim" });
    early.clock.increment(1);
    expect(early.state).toBe("claimed");
    const late = runIn("prk");
    late.clock.increment(runBounds.parkMs);
    late.send({ type: "claim" });
    expect(late.state).toBe("closed");
  });

  it("R7 a transport lost in the replay parks again with the same deadline", () => {
    const run = runIn("act");
    run.clock.increment(5_000);
    run.lose();
    const { parkDeadline, parkedAt } = run.context;
    run.clock.increment(600_000);
    run.send({ type: "claim" });
    run.clock.increment(1_000);
    run.lose();
    expect(run.context).toMatchObject({ attached: false, parkDeadline, parkedAt });
    expect(run.reports.at(-1)).toEqual({ type: "run.parked", runId: "r1", parkDeadline });
    run.clock.increment(runBounds.parkMs - 601_000);
    expect(reasonOf(run)).toBe("park-ttl");
  });

  it("R7 lost in the replay of a claim from an attached transport: its own deadline", () => {
    const run = runIn("act");
    run.clock.increment(2_000);
    run.send({ type: "claim" });
    run.lose();
    expect(run.context).toMatchObject({ parkedAt: 2_000, parkDeadline: 2_000 + runBounds.parkMs });
  });

  it("R8 a replay that does not end in time holds the Run up no longer", () => {
    const run = runIn("clm");
    run.clock.increment(runBounds.claimLimit);
    expect([run.state, run.reports.at(-1)?.type]).toEqual(["active", "run.attached"]);
    run.clock.increment(runBounds.heartbeatMs);
    expect(run.heartbeats).toHaveLength(1);
  });
});

describe("capacity and settings", () => {
  it("R9 only a parked Run is evicted; it is reported once", () => {
    for (const state of open) {
      const run = runIn(state);
      run.send({ type: "evict" });
      expect([state, run.state === "closed"]).toEqual([state, state === "prk"]);
    }
    const run = runIn("prk");
    run.send({ type: "evict" }, { type: "evict" });
    expect(run.reports.filter(({ type }) => type === "capacity.evicted")).toHaveLength(1);
    expect(reasonOf(run)).toBe("park-capacity");
  });

  it("R10 new settings arm the park timer from the original age, and the conversation is told", () => {
    const run = runIn("prk");
    run.clock.increment(100_000);
    run.send({ type: "settings.changed", parkDeadline: 300_000 });
    expect(run.reports.at(-1)).toEqual({ type: "run.parked", runId: "r1", parkDeadline: 300_000 });
    expect(run.context.parkedAt).toBe(0);
    run.clock.increment(199_999);
    expect(run.state).toBe("parked");
    run.clock.increment(1);
    expect(reasonOf(run)).toBe("park-ttl");
  });

  it("R10 a shorter time than the Run has waited ends it at once", () => {
    const run = runIn("prk");
    run.clock.increment(100_000);
    run.send({ type: "settings.changed", parkDeadline: 50_000 });
    run.clock.increment(0);
    expect(run.state).toBe("closed");
  });

  it("R10 where nothing is parked they change nothing", () => {
    for (const state of ["opn", "act", "clm"] as const) {
      const run = runIn(state);
      const before = run.context;
      run.send({ type: "settings.changed", parkDeadline: 1 });
      expect([run.state, run.context]).toEqual([runStates[state], before]);
    }
  });
});

describe("heartbeats", () => {
  it.each(["served", "consumed"] as const)(
    "R11 %s: one-shot, armed anew after each beat with a fresh delay",
    (direction) => {
      const run = openRun({ direction, beats: [4_500, 5_500, 5_000] });
      run.send({ type: "transport.attached" });
      run.pass(20_000);
      expect(run.heartbeats).toEqual([4_500, 10_000, 15_000, 20_000]);
    },
  );

  it("R11 a claim keeps one chain of beats, not two", () => {
    const run = runIn("act");
    run.pass(runBounds.heartbeatMs);
    run.send({ type: "claim" }, { type: "replay.finished" });
    run.pass(3 * runBounds.heartbeatMs);
    expect(run.heartbeats).toEqual([1, 2, 3, 4].map((beat) => beat * runBounds.heartbeatMs));
  });

  it("R11 they go on through a long replay, and stop with the transport", () => {
    const run = runIn("act");
    run.send({ type: "claim" });
    run.pass(2 * runBounds.heartbeatMs);
    expect(run.heartbeats).toHaveLength(2);
    run.lose();
    run.pass(5 * runBounds.heartbeatMs);
    expect(run.heartbeats).toHaveLength(2);
  });

  it("R11 consumed: they run on while the Run is parked", () => {
    const run = runIn("prk", "consumed");
    run.pass(2 * runBounds.heartbeatMs);
    expect(run.heartbeats).toHaveLength(2);
  });
});

describe("consumed (cursor-run.md)", () => {
  it("R12 it is an actor of its own: it reports to nobody", () => {
    const run = runIn("prk", "consumed");
    run.send({ type: "settings.changed", parkDeadline: 5_000_000 }, { type: "claim" }, { type: "replay.finished" });
    expect([run.errors, run.state]).toEqual([[], "active"]);
  });

  it("R13 tool calls complete: parked, its transport stays, `parkedAt` stamped", () => {
    const run = runIn("act", "consumed");
    run.clock.increment(3_000);
    run.boundary();
    expect(run.context).toMatchObject({ attached: true, parkedAt: 3_000, parkDeadline: 3_000 + runBounds.parkMs });
  });

  it.each([
    ["opn", "stream-error"],
    ["act", "stream-error"],
    ["clm", "stream-error"],
    ["prk", "heartbeat-closed"],
  ] as const)("R14 in %s losing the transport releases it: %s", (state, reason) => {
    const run = runIn(state, "consumed");
    run.lose();
    expect([run.state, reasonOf(run)]).toEqual(["closed", reason]);
  });

  it("R15 no bytes for the limit close it, also after the results were given back; bytes arm the limit anew", () => {
    const run = runIn("act", "consumed");
    run.clock.increment(runBounds.streamIdleLimit - 1);
    run.send({ type: "bytes.received" });
    run.clock.increment(runBounds.streamIdleLimit - 1);
    expect(run.state).toBe("active");
    run.clock.increment(1);
    expect([run.state, reasonOf(run)]).toEqual(["closed", "stream-idle"]);
    const resumed = runIn("prk", "consumed");
    resumed.clock.increment(2 * runBounds.streamIdleLimit);
    expect(resumed.state).toBe("parked");
    resumed.send({ type: "claim" }, { type: "replay.finished" });
    resumed.clock.increment(runBounds.streamIdleLimit);
    expect(reasonOf(resumed)).toBe("stream-idle");
  });

  it("R15 served: the transport watches its own bytes", () => {
    const run = runIn("act");
    run.clock.increment(2 * runBounds.streamIdleLimit);
    expect(run.state).toBe("active");
  });

  it.each([
    ["the park timer", (run: OpenRun) => run.clock.increment(runBounds.parkMs), "park-ttl"],
    ["capacity", (run: OpenRun) => run.send({ type: "evict" }), "park-capacity"],
  ] as const)("R16 parked: %s closes it and reports to nobody", (_, act, reason) => {
    const run = runIn("prk", "consumed");
    act(run);
    expect([run.state, reasonOf(run), run.errors]).toEqual(["closed", reason, []]);
  });

  it("R16 a stream that never opens is closed", () => {
    const run = runIn("opn", "consumed");
    run.clock.increment(runBounds.openingLimit);
    expect([run.state, reasonOf(run)]).toEqual(["closed", "stream-error"]);
  });

  it("R16 the tool boundary is a matter of consumed Runs alone", () => {
    const run = runIn("act");
    run.boundary();
    expect(run.state).toBe("active");
  });
});

describe("close", () => {
  const reasons: readonly RunCloseReason[] = [
    "turn-end",
    "abort",
    "superseded",
    "park-mismatch",
    "session-disposed",
    "dispose",
    "resource-exhausted",
    "heartbeat-closed",
    "heartbeat-failed",
  ];

  it.each((["served", "consumed"] as const).flatMap((direction) => open.map((state) => ({ direction, state }))))(
    "R17 $direction $state: with the reason given, once, and no timer is left",
    ({ direction, state }) => {
      for (const reason of reasons) {
        const run = runIn(state, direction);
        run.send({ type: "close", reason }, { type: "close", reason: "dispose" });
        expect([run.state, reasonOf(run), run.context.attached]).toEqual(["closed", reason, false]);
        const { reports, heartbeats } = { reports: run.reports.length, heartbeats: run.heartbeats.length };
        run.clock.increment(10 * runBounds.parkMs);
        expect([run.reports.length, run.heartbeats.length, reasonOf(run)]).toEqual([reports, heartbeats, reason]);
      }
    },
  );

  it("R17 its output is the reason", () => {
    const run = runIn("act");
    run.send({ type: "close", reason: "turn-end" });
    expect(run.actor.getSnapshot().output).toBe("turn-end");
  });
});

describe("the chart as a whole", () => {
  it("R18 every state is bounded, and it tells its conversation four things and no more", () => {
    for (const state of ["opening", "parked", "claimed"] as const)
      expect([state, Object.keys(cursorRunMachine.root.states[state]?.config.after ?? {})]).toHaveLength(2);
    const told = new Set<string>();
    for (const state of open)
      for (const act of [
        (run: OpenRun) => run.lose(),
        (run: OpenRun) => run.send({ type: "claim" }, { type: "replay.finished" }),
        (run: OpenRun) => run.send({ type: "evict" }),
        (run: OpenRun) => run.send({ type: "close", reason: "abort" }),
        (run: OpenRun) => run.clock.increment(runBounds.parkMs),
      ]) {
        const run = runIn(state);
        act(run);
        for (const { type } of run.reports) told.add(type);
      }
    expect([...told].toSorted()).toEqual(["capacity.evicted", "park.expired", "run.attached", "run.parked"]);
  });

  it("R18 an endless loop of eventless transitions is stopped", () => {
    expect(cursorRunMachine.options.maxIterations).toBe(100);
  });
});
