import type { ToolCallId, ToolCallRecord, ToolEffect, ToolExecution, ToolResultRecord } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { type BoardHost, type SettledCall, ToolBoard } from "./tool-board.ts";

const callId = (name: string): ToolCallId => name as ToolCallId;

function record(name: string, index: number): ToolCallRecord {
  return { id: callId(name), providerId: `p_${name}` as never, index, name: "Tool", arguments: "{}" };
}

function result(name: string): ToolResultRecord {
  return { callId: callId(name), toolName: "Tool", text: name, isError: false };
}

/** An execution that settles when it is replied to; tells the log what was done with it. */
function execution(name: string, log: string[], exclusive?: string): ToolExecution {
  let done = false;
  const settle = (): readonly ToolEffect[] => {
    if (done) return [];
    done = true;
    return [{ type: "settled", result: result(name), completed: new TextEncoder().encode(name), blobs: [] }];
  };
  return {
    callId: callId(name),
    ...(exclusive === undefined ? {} : { exclusive }),
    begin: () => (log.push(`begin ${name}`), []),
    reissue: () => (log.push(`reissue ${name}`), []),
    reply: settle,
    control: () => [{ type: "renew" }],
    answer: settle,
    expire: settle,
    interrupt: settle,
    accept: settle,
  };
}

function fixture() {
  const log: string[] = [];
  const commits: (readonly SettledCall[])[] = [];
  let now = 1_000;
  let open: () => void = () => undefined;
  let gate: Promise<void> = Promise.resolve();
  const host: BoardHost = {
    now: () => now,
    setTimeout: () => ({}),
    clearTimeout: () => undefined,
    stream: () => undefined,
    appendUpdate: (frame) => log.push(`completed ${new TextDecoder().decode(frame)}`),
    sendExec: () => undefined,
    sendQuery: () => undefined,
    abortExec: () => undefined,
    commit: async (settled) => {
      await gate;
      commits.push(settled);
      return true;
    },
    toolSettled: () => undefined,
  };
  const board = new ToolBoard(host, 500);
  return {
    board,
    log,
    commits,
    at: (ms: number) => (now = ms),
    hold: () => void (gate = new Promise((resolve) => (open = resolve))),
    letGo: () => open(),
    add: (name: string, index: number, exclusive?: string) =>
      board.add(record(name, index), execution(name, log, exclusive), 1_500),
  };
}

const reply = (board: ToolBoard, name: string): boolean => board.reply({ callId: callId(name), key: "k" }, {} as never);

describe("tool board", () => {
  it("commits a result before the client sees its card completed; the first result wins", async () => {
    const { board, log, commits, add } = fixture();
    add("a", 0);
    board.beginAll();
    expect(reply(board, "a")).toBe(true);
    expect(reply(board, "a")).toBe(false);
    expect(log).toEqual(["begin a"]);
    await board.flushed();
    expect(commits).toHaveLength(1);
    expect(log).toEqual(["begin a", "completed a"]);
    expect(board.open).toBe(0);
  });

  it("lets results that come during a commit share the next one", async () => {
    const { board, commits, hold, letGo, add } = fixture();
    for (const [index, name] of ["a", "b", "c"].entries()) add(name, index);
    board.beginAll();
    hold();
    reply(board, "a");
    await Promise.resolve();
    reply(board, "b");
    reply(board, "c");
    letGo();
    await board.flushed();
    expect(commits.map((batch) => batch.map((settled) => settled.callId))).toEqual([["a"], ["a", "b", "c"].slice(1)]);
  });

  it("takes calls that change the same thing one after the other, others at once", async () => {
    const { board, log, add } = fixture();
    add("a", 0, "file:x");
    add("b", 1, "file:x");
    add("c", 2, "file:y");
    board.beginAll();
    expect(log).toEqual(["begin a", "begin c"]);
    board.reissue();
    expect(log).toEqual(["begin a", "begin c", "reissue a", "reissue c"]);
    reply(board, "a");
    await board.flushed();
    expect(log).toContain("begin b");
  });

  it("closes only calls whose deadline has passed; a sign of life renews it", async () => {
    const { board, at, commits, add } = fixture();
    add("a", 0);
    add("b", 1);
    board.beginAll();
    at(1_400);
    board.control({ callId: callId("a"), key: "k" }, { kind: "heartbeat", execId: 1 });
    at(1_600);
    board.interruptOverdue();
    await board.flushed();
    expect(commits.flat().map((settled) => settled.callId)).toEqual(["b"]);
    expect(board.deadline).toBe(1_900);
  });
});
