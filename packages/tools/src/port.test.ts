import { describe, expect, it } from "vitest";
import type { JsonObject, ToolCallId, ToolResultRecord } from "@chartroom/domain";
import { agent, create, toBinary } from "@chartroom/protocol";
import { AT, callOf, MODEL_CALL, play, scope, SEARCH, tools, updateOf } from "../test/support.ts";

describe("a call that is not carried out", () => {
  it("TL-05: is a tool error with the tools of the mode, and never starts", () => {
    const game = play("bash", { command: "ls" }, { mode: "ask", offers: [SEARCH] });
    game.begin();
    expect(game.types()).toEqual(["settled"]);
    expect(game.result()).toMatchObject({
      isError: true,
      toolName: "bash",
      text: 'There is no tool "bash". Tools of this mode: Read, Grep, Glob, ReadLints, tracker-search.',
    });
    expect(game.completed().tool).toMatchObject({
      case: "mcpToolCall",
      value: { args: { name: "bash", toolName: "bash" }, result: { result: { case: "error" } } },
    });
  });

  it("TL-05: is also a native tool of another mode", () => {
    const game = play("Write", { path: "a", contents: "b" }, { mode: "ask" });
    game.begin();
    expect(game.result().text).toContain('There is no tool "Write"');
  });

  it.each([
    ["Read", "[]", "readToolCall"],
    ["Read", {}, "readToolCall"],
    ["Read", { path: 3 }, "readToolCall"],
    ["Shell", { command: "ls", block_until_ms: "soon" }, "shellToolCall"],
    ["Write", { path: "a" }, "editToolCall"],
    ["StrReplace", { path: "a", old_string: "b" }, "editToolCall"],
    ["Delete", "{", "deleteToolCall"],
    ["Grep", { pattern: "a", output_mode: "all" }, "grepToolCall"],
    ["Glob", { pattern: "a" }, "globToolCall"],
    ["ReadLints", { paths: [] }, "readLintsToolCall"],
    ["tracker-search", "7", "mcpToolCall"],
  ])("is %s with the arguments %j", (name, args, tool) => {
    const game = play(name, args, { offers: [SEARCH] });
    game.begin();
    expect(game.types()).toEqual(["settled"]);
    const { text, isError } = game.result();
    expect(isError).toBe(true);
    expect(text).toContain(`${name} was not run`);
    expect(text).toContain('Schema of its arguments: {"type":"object"');
    expect(text).toContain("Tools of this mode: Shell, Read, ");
    expect(game.completed().tool.case).toBe(tool);
  });

  it("TL-04: is one whose argument text could not be repaired", () => {
    const call = { ...callOf("Read", "{}"), argumentError: "the text was cut off" };
    const [effect] = tools.execute(scope(), call, MODEL_CALL).begin(AT);
    expect(effect).toMatchObject({ type: "settled", result: { isError: true } });
    expect(effect?.type === "settled" && effect.result.text).toContain("- the text was cut off");
  });

  it("is settled once, also by an interrupt before it begins", () => {
    const game = play("bash", {});
    game.interrupt("cancelled");
    expect(game.result()).toMatchObject({ interrupted: "cancelled", isError: true });
    expect(game.begin()).toEqual([]);
    expect(game.interrupt("cancelled")).toEqual([]);
    expect(game.execution.reissue()).toEqual([]);
  });

  it("TL-14: unwraps arguments of native tools that are nested one level deeper", () => {
    const game = play("Read", { arguments: { path: "/a" } });
    game.begin();
    expect(game.execs()[0]?.exec.message).toMatchObject({ case: "readArgs", value: { path: "/a" } });
  });
});

describe("a stored result", () => {
  const call = callOf("Read", { path: "/a" });
  const record = (rest: Partial<ToolResultRecord>): ToolResultRecord => ({
    callId: call.id,
    toolName: "Read",
    text: "told",
    isError: false,
    ...rest,
  });

  it("gives back the card that it was shown with", () => {
    const game = play("Read", { path: "/a" });
    game.begin();
    game.reply({ case: "readResult", value: { result: { case: "fileNotFound", value: {} } } });
    expect(tools.completedCard(scope({ mode: "ask" }), game.call, MODEL_CALL, game.result())).toEqual(
      game.settled()?.completed,
    );
  });

  it.each([
    ["Read", { path: "/a" }, "readToolCall"],
    ["Shell", { command: "ls" }, "shellToolCall"],
    ["Write", { path: "/a", contents: "" }, "editToolCall"],
    ["StrReplace", { path: "/a", old_string: "a", new_string: "b" }, "editToolCall"],
    ["Delete", { path: "/a" }, "deleteToolCall"],
    ["Grep", { pattern: "a" }, "grepToolCall"],
    ["Glob", { glob_pattern: "a" }, "globToolCall"],
    ["ReadLints", { paths: ["a"] }, "readLintsToolCall"],
    ["tracker-search", { query: "a" }, "mcpToolCall"],
    ["bash", {}, "mcpToolCall"],
  ])("of %s without a card gets one of its text", (name, args, tool) => {
    const where = scope({ mode: "ask", offers: [SEARCH] });
    const stored = callOf(name, args);
    for (const isError of [false, true]) {
      const update = updateOf(tools.completedCard(where, stored, MODEL_CALL, record({ toolName: name, isError })));
      expect(update).toMatchObject({
        case: "toolCallCompleted",
        value: { callId: "call_1", modelCallId: "m1", toolCall: { tool: { case: tool } } },
      });
      const shown =
        update.case === "toolCallCompleted"
          ? (update.value.toolCall?.tool.value as { result?: { result: { case?: string } } })
          : undefined;
      expect(shown?.result?.result.case === "success").toBe(!isError);
    }
  });

  it("with a card that cannot be read gets one of its text", () => {
    const frame = tools.completedCard(scope(), call, MODEL_CALL, record({ display: new Uint8Array([0xff]) }));
    expect(updateOf(frame)).toMatchObject({
      value: { toolCall: { tool: { value: { result: { result: { value: { output: { value: "told" } } } } } } } },
    });
  });

  it("settles an open call when it comes another way", () => {
    const game = play("Read", { path: "/a" });
    game.begin();
    const given = record({ text: "from elsewhere" });
    const effects = game.execution.accept(given, AT + 5);
    // the client may still be at it
    expect(effects.map(({ type }) => type)).toEqual(["abort", "settled"]);
    game.take(effects);
    expect(game.result()).toBe(given);
    expect(game.completed()).toMatchObject({ completedAtMs: BigInt(AT + 5) });
    expect(game.execution.accept(given, AT)).toEqual([]);
  });
});

describe("resolve", () => {
  const wire = (resolution: object) =>
    toBinary(
      agent.InterruptedPendingToolCallResolutionSchema,
      create(agent.InterruptedPendingToolCallResolutionSchema, { toolCallId: "call_1", resolution } as never),
    );
  const resolve = (name: string, args: JsonObject, bytes: Uint8Array) =>
    tools.resolve(scope({ mode: "ask" }), callOf(name, args), { callId: "call_1" as ToolCallId, wire: bytes });
  const stopped = wire({
    case: "shellResult",
    value: { result: { case: "failure", value: { command: "ls", exitCode: 130, aborted: true, stdout: "half" } } },
  });

  it("takes the last result of a shell call that the client stopped", () => {
    const result = resolve("Shell", { command: "ls" }, stopped);
    expect(result).toMatchObject({
      callId: "call_1",
      toolName: "Shell",
      isError: true,
      text: "Exit code: 130\nThe command was stopped by the user.\n\nhalf",
    });
    expect(result?.interrupted).toBeUndefined();
    const game = play("Shell", { command: "ls" });
    game.begin();
    game.take(game.execution.accept(result!, AT));
    expect(game.completed().tool).toMatchObject({
      case: "shellToolCall",
      value: { result: { result: { case: "failure", value: { stdout: "half" } } } },
    });
  });

  it("has nothing for other tools, other resolutions, empty ones and broken bytes", () => {
    expect(resolve("Read", { path: "/a" }, stopped)).toBeUndefined();
    expect(resolve("bash", {}, stopped)).toBeUndefined();
    expect(resolve("Shell", {}, stopped)).toBeUndefined();
    expect(resolve("Shell", { command: "ls" }, wire({ case: "shellResult", value: {} }))).toBeUndefined();
    expect(resolve("Shell", { command: "ls" }, wire({ case: "taskResult", value: {} }))).toBeUndefined();
    expect(resolve("Shell", { command: "ls" }, wire({ case: undefined }))).toBeUndefined();
    expect(resolve("Shell", { command: "ls" }, new Uint8Array([0xff, 0xff]))).toBeUndefined();
  });
});
