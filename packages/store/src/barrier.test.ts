import type { CheckpointNode, PersistedChart, RunRow, ToolCallRow, ToolResultRecord } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { changeRun, deadlineOf, foldBarrier, statusAllows } from "./barrier.ts";

const run = (more: Partial<RunRow> = {}): RunRow =>
  ({ runId: "r", status: "running", delivered: false, ...more }) as RunRow;
const call = (more: Partial<ToolCallRow> = {}): ToolCallRow =>
  ({ callId: "t", status: "open", deadline: 1, ...more }) as ToolCallRow;
const result = (text: string): ToolResultRecord => ({ text }) as ToolResultRecord;
const node = (more: Partial<CheckpointNode>): CheckpointNode =>
  ({ id: "k", added: [], delivered: false, ...more }) as CheckpointNode;
const charts = (callDeadline: number, parkDeadline: number): PersistedChart =>
  ({ context: { callDeadline, parkDeadline } }) as PersistedChart;

describe("a Run's status", () => {
  const all = ["waiting", "running", "completed", "cancelled", "failed", "superseded"] as const;
  it("allows these steps and no others", () => {
    const allowed = all.flatMap((from) => all.filter((to) => statusAllows(from, to)).map((to) => `${from} > ${to}`));
    const ended = all.slice(2);
    expect(allowed).toEqual([
      ...all.map((to) => `waiting > ${to}`),
      ...all.slice(1).map((to) => `running > ${to}`),
      ...ended.map((one) => `${one} > ${one}`),
    ]);
  });
});

describe("folding a barrier", () => {
  it("joins what it says of one Run, in order, by the rule of statuses", () => {
    const { runsOpened, runsChanged } = foldBarrier({
      runsOpened: [run({ status: "waiting" }), run({ status: "failed" })],
      runsChanged: [
        { runId: run().runId, status: "completed", endedAt: 1 },
        { runId: run().runId, status: "cancelled", endedAt: 2 },
        { runId: run().runId, delivered: true },
      ],
    });
    expect(runsChanged).toEqual([{ runId: "r", status: "completed", endedAt: 1, delivered: true }]);
    expect(runsOpened).toEqual([run({ status: "completed", endedAt: 1, delivered: true })]);
  });

  it("a change keeps delivery and outcome, and 0 takes the park deadline away", () => {
    const { runId } = run();
    expect(changeRun(run({ delivered: true, parkDeadline: 5 }), { runId, delivered: false, parkDeadline: 0 })).toEqual(
      run({ delivered: true }),
    );
    const ended = run({ status: "failed", failureCode: "INTERNAL", endedAt: 1 });
    expect(changeRun(ended, { runId, failureCode: "CANCELLED", endedAt: 2, generation: 4 })).toEqual({
      ...ended,
      generation: 4,
    });
    expect(changeRun(ended, { runId, status: "running", generation: 4 })).toBe(ended);
  });

  it("a call that is opened and settled is opened as settled; its first result stands", () => {
    const { callId } = call();
    const { callsOpened, callsChanged } = foldBarrier({
      callsOpened: [call(), call({ deadline: 9 })],
      callDeadlines: [{ callId, deadline: 5 }],
      callsSettled: [
        { callId, result: result("first") },
        { callId, result: result("second") },
      ],
    });
    expect(callsOpened).toEqual([call({ deadline: 5, status: "settled", result: result("first") })]);
    expect(callsChanged).toEqual([{ callId, deadline: 5, result: result("first") }]);
    const settled = call({ status: "settled", result: result("own") });
    expect(
      foldBarrier({ callsOpened: [settled], callsSettled: [{ callId, result: result("x") }] }).callsOpened,
    ).toEqual([settled]);
  });

  it("a node that is made and marked as delivered is made as delivered; the first content of an id stands", () => {
    const { checkpoints, checkpointDelivered } = foldBarrier({
      checkpoints: [
        node({ length: 1 }),
        node({ length: 2, wireState: new Uint8Array([1]) }),
        node({ wireState: new Uint8Array([2]) }),
      ],
      checkpointDelivered: [node({}).id, node({}).id, "other" as CheckpointNode["id"]],
    });
    expect(checkpoints).toEqual([node({ length: 1, wireState: new Uint8Array([1]), delivered: true })]);
    expect(checkpointDelivered).toEqual(["other"]);
  });

  it("a row of the inbox leaves once", () => {
    expect(foldBarrier({ inboxTaken: [1, 2, 1], inboxDropped: [2, 3] }).inboxLeft).toEqual([
      { seq: 1, state: "taken" },
      { seq: 2, state: "taken" },
      { seq: 3, state: "dropped" },
    ]);
  });

  it("the deadline of a chart is the earliest that is set", () => {
    expect([charts(0, 0), charts(5, 0), charts(0, 7), charts(5, 3)].map(deadlineOf)).toEqual([null, 5, 7, 3]);
  });
});
