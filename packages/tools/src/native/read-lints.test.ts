import { describe, expect, it } from "vitest";
import { play } from "../../test/support.ts";

type Reply = Parameters<ReturnType<typeof play>["reply"]>[0];
const diagnostics = (result: object): Reply => ({ case: "diagnosticsResult", value: { result } }) as Reply;
const clean = diagnostics({ case: "success", value: {} });

describe("ReadLints", () => {
  it("asks about every path at once, and settles when all have answered, in any order", () => {
    const game = play("ReadLints", { paths: ["a.ts", "/abs/b.ts", "a.ts"] });
    game.begin();
    expect(game.execs().map(({ exec }) => exec.message.value)).toMatchObject([
      { path: "/ws/demo/a.ts" },
      { path: "/abs/b.ts" },
    ]);
    const range = { start: { line: 4, column: 2 }, end: { line: 4, column: 5 } };
    const found = [
      { severity: 1, message: "no such name", source: "ts", code: "2304", range },
      { severity: 2, message: "unused", isStale: true },
    ];
    game.reply(diagnostics({ case: "success", value: { diagnostics: found, totalDiagnostics: 3 } }), "path-1");
    expect(game.settled()).toBeUndefined();
    game.reply(clean, "path-1");
    expect(game.settled()).toBeUndefined();
    game.reply(clean, "path-0");
    expect(game.result()).toMatchObject({ isError: false });
    expect(game.result().text).toBe(
      "/ws/demo/a.ts: no diagnostics.\n\n/abs/b.ts: 3 diagnostics\n  4:2 error: no such name [ts 2304]\n  warning: unused (from before the last change)\n[1 more are not shown.]",
    );
    expect(game.completed().tool).toMatchObject({
      case: "readLintsToolCall",
      value: {
        args: { paths: ["/ws/demo/a.ts", "/abs/b.ts", "/ws/demo/a.ts"] },
        result: {
          result: {
            case: "success",
            value: {
              totalFiles: 2,
              totalDiagnostics: 3,
              fileDiagnostics: [{ path: "/ws/demo/a.ts" }, { diagnostics: [{ range }, {}] }],
            },
          },
        },
      },
    });
  });

  it("goes on when one path fails, and is an error only when all do", () => {
    const some = play("ReadLints", { paths: ["a", "b"] });
    some.begin();
    some.reply(diagnostics({ case: "fileNotFound", value: {} }), "path-0");
    some.control({ kind: "throw", execId: 2, message: "not supported" }, "path-1");
    expect(some.result()).toMatchObject({
      isError: true,
      text: "/ws/demo/a: File not found.\n\n/ws/demo/b: not supported",
    });
    const one = play("ReadLints", { paths: ["a", "b"] });
    one.begin();
    one.reply(diagnostics({ case: "rejected", value: { reason: "no" } }), "path-0");
    one.reply(clean, "path-1");
    expect(one.result()).toMatchObject({
      isError: false,
      text: "/ws/demo/a: Rejected: no\n\n/ws/demo/b: no diagnostics.",
    });
  });

  it.each([
    [{ case: "error", value: { error: "x" } }, "Could not be read: x"],
    [{ case: "permissionDenied", value: {} }, "Permission denied."],
    [{ case: undefined }, "The client answered without a result that this server understands."],
  ])("tells of %j", (result, text) => {
    const game = play("ReadLints", { paths: ["/a"] });
    game.begin();
    game.reply(diagnostics(result), "path-0");
    expect(game.result()).toMatchObject({ isError: true, text: `/a: ${text}` });
  });

  it("is asked again, on a new stream, only about what is open", () => {
    const game = play("ReadLints", { paths: ["a", "b"] });
    game.begin();
    game.reply(clean, "path-0");
    expect(game.execution.reissue().map((effect) => effect.type === "exec" && effect.key)).toEqual(["path-1"]);
  });
});
