import { describe, expect, it } from "vitest";
import type { InterruptReason, JsonObject } from "@chartroom/domain";
import { answer, AT, context, play, SEARCH } from "../../test/support.ts";
import { CLOSE_GRACE_MS } from "./execution.ts";

const found = { case: "readResult", value: { result: { case: "fileNotFound", value: { path: "/a" } } } } as const;
const begun = () => {
  const game = play("Read", { path: "/a" });
  game.begin();
  return game;
};

describe("an execution", () => {
  it("begins once", () => {
    const game = begun();
    expect(game.begin()).toEqual([]);
  });

  it("encodes a request for whichever id the stream gives it", () => {
    const game = begun();
    expect(game.execs()).toMatchObject([{ key: "exec", exec: { id: 1 } }]);
    const [again] = game.execution.reissue();
    expect(again?.type === "exec" && again.key).toBe("exec");
  });

  it("has nothing to ask again before it begins and after it settled", () => {
    const game = play("Read", { path: "/a" });
    expect(game.execution.reissue()).toEqual([]);
    game.begin();
    game.reply(found);
    expect(game.execution.reissue()).toEqual([]);
  });

  it("takes the first answer and no other", () => {
    const game = begun();
    game.reply(found);
    const { text } = game.result();
    expect(game.reply({ case: "readResult", value: { result: { case: "rejected", value: {} } } }, "exec")).toEqual([]);
    expect(game.result().text).toBe(text);
  });

  it("ignores answers to what it did not ask", () => {
    const game = begun();
    expect(game.reply(found, "other")).toEqual([]);
    expect(game.control({ kind: "throw", execId: 1, message: "x" }, "other")).toEqual([]);
    expect(game.execution.answer("exec", {} as never, AT)).toEqual([]);
    expect(game.settled()).toBeUndefined();
  });

  it("is renewed by a heartbeat", () => {
    expect(begun().control({ kind: "heartbeat", execId: 1 }, "exec")).toEqual([{ type: "renew" }]);
  });

  it("takes a throw for a tool error", () => {
    const game = begun();
    game.control({ kind: "throw", execId: 1, message: "unknown exec" }, "exec");
    expect(game.result()).toMatchObject({ isError: true, text: "unknown exec" });
    const silent = begun();
    silent.control({ kind: "throw", execId: 1, message: "" }, "exec");
    expect(silent.result().text).toBe("The client gave no reason.");
  });

  it("does not hold an answer without a result for one", () => {
    const game = begun();
    game.reply({ case: undefined });
    expect(game.result()).toMatchObject({
      isError: true,
      text: "The client answered without a result that this server understands.",
    });
  });
});

describe("a close before the result", () => {
  const close = { kind: "close", execId: 1 } as const;

  it("gives the result some time, and takes it", () => {
    const game = begun();
    expect(game.control(close, "exec")).toEqual([{ type: "deadline", key: "exec/close-1", ms: CLOSE_GRACE_MS }]);
    game.reply(found);
    expect(game.result().text).toBe("File not found: /a");
    expect(game.expire("exec/close-1")).toEqual([]);
  });

  it("fails the call when none comes", () => {
    const game = begun();
    game.control(close, "exec");
    game.expire("exec/close-1");
    expect(game.result()).toMatchObject({ isError: true, text: "The client closed the call without a result." });
  });

  it("means nothing any more on a new stream", () => {
    const game = begun();
    game.control(close, "exec");
    game.take(game.execution.reissue());
    expect(game.expire("exec/close-1")).toEqual([]);
    expect(game.control(close, "exec")).toEqual([{ type: "deadline", key: "exec/close-2", ms: CLOSE_GRACE_MS }]);
    game.expire("exec/close-2");
    expect(game.result().isError).toBe(true);
  });

  it("of a read means nothing for the write that follows it", () => {
    const game = play("StrReplace", { path: "/a", old_string: "b", new_string: "c" });
    game.begin();
    game.control(close, "read");
    game.reply({
      case: "readResult",
      value: { result: { case: "success", value: { output: { case: "content", value: "b" } } } },
    });
    expect(game.expire("read/close-1")).toEqual([]);
    expect(game.settled()).toBeUndefined();
  });
});

describe("an interrupt", () => {
  it.each([
    ["user-message", "the user sent a new message while it ran"],
    ["cancelled", "the user cancelled"],
    ["superseded", "another run of this conversation took over"],
    ["parked-expired", "the client did not come back in time"],
    ["deadline", "the client did not answer in time"],
    ["failed", "the run failed before the client answered"],
  ] satisfies [InterruptReason, string][])("by %s aborts first, then settles", (reason, why) => {
    const game = begun();
    const effects = game.interrupt(reason);
    expect(effects.map(({ type }) => type)).toEqual(["abort", "settled"]);
    expect(effects[0]).toEqual({ type: "abort", key: "exec" });
    expect(game.result()).toMatchObject({
      isError: true,
      interrupted: reason,
      text: `Tool interrupted: ${why}. There is no result.`,
    });
    expect(game.completed().tool).toMatchObject({ value: { result: { result: { case: "error" } } } });
    expect(game.interrupt(reason)).toEqual([]);
  });

  it("tells that a call with effects may have had some, once it has begun", () => {
    const caution = "It may have taken effect in part";
    for (const [name, args] of [
      ["Write", { path: "/a", contents: "b" }],
      ["Delete", { path: "/a" }],
      ["tracker-search", { query: "a" }],
    ] as const) {
      const game = play(name, args, { offers: [SEARCH] });
      expect(game.interrupt("cancelled").map(({ type }) => type)).toEqual(["settled"]);
      expect(game.result().text).not.toContain(caution);
      const running = play(name, args, { offers: [SEARCH] });
      running.begin();
      running.interrupt("cancelled");
      expect(running.result().text).toContain(caution);
    }
  });

  it("aborts every request that is open", () => {
    const game = play("ReadLints", { paths: ["/a", "/b", "/c"] });
    game.begin();
    game.reply({ case: "diagnosticsResult", value: { result: { case: "success", value: {} } } }, "path-1");
    expect(game.interrupt("deadline").slice(0, -1)).toEqual([
      { type: "abort", key: "path-0" },
      { type: "abort", key: "path-2" },
    ]);
  });
});

describe("hooks", () => {
  it("add to the result of any tool what they want the model to know", () => {
    const game = begun();
    game.reply(found, "exec", {
      hookAdditionalContexts: [{ hookEventName: "postToolUse", content: "look in /b" }, { content: "" }],
    });
    expect(game.result().text).toBe("File not found: /a\n\n[hook postToolUse]\nlook in /b");
    expect(game.completed().hookAdditionalContexts).toHaveLength(2);
  });
});

describe("paths", () => {
  it.each([
    ["a/b.ts", "/ws/demo/a/b.ts"],
    ["./a", "/ws/demo/a"],
    [".", "/ws/demo"],
    ["/abs", "/abs"],
    ["~/x", "~/x"],
    ["C:\\x", "C:\\x"],
    ["\\\\host\\share", "\\\\host\\share"],
    ["file:///x", "file:///x"],
  ])("are meant from the workspace folder: %s", (given, asked) => {
    const game = play("Read", { path: given });
    game.begin();
    expect(game.execs()[0]?.exec.message.value).toMatchObject({ path: asked });
  });

  it("have the workspace's separator, and none is invented without a workspace", () => {
    const { env } = context();
    const at = (workspacePaths: string[]) => {
      const game = play("Read", { path: "a/b" }, { context: context({ env: { ...env!, workspacePaths } }) });
      game.begin();
      return (game.execs()[0]!.exec.message.value as { path: string }).path;
    };
    expect(at(["C:\\ws"])).toBe("C:\\ws\\a/b");
    expect(at(["/ws/"])).toBe("/ws/a/b");
    expect(at([])).toBe("a/b");
  });
});

describe("what cannot be used", () => {
  it("ends the call, never the Run", () => {
    const game = begun();
    const broken = answer(found);
    Object.defineProperty(broken.body, "message", {
      get: () => {
        throw new Error("broken");
      },
    });
    game.take(game.execution.reply("exec", broken, AT));
    expect(game.result()).toMatchObject({ isError: true, text: "The server could not use what the client answered." });
  });
});

describe("calls that change the same file", () => {
  const keyOf = (name: string, args: JsonObject) => play(name, args).execution.exclusive;

  it("say so, however they write its path", () => {
    const key = keyOf("Write", { path: "/ws/demo/a.ts", contents: "" });
    expect(key).toBe("file:/ws/demo/a.ts");
    expect(keyOf("StrReplace", { path: "a.ts", old_string: "a", new_string: "b" })).toBe(key);
    expect(keyOf("Delete", { path: "./sub/../a.ts" })).toBe(key);
    expect(keyOf("Delete", { path: "b.ts" })).not.toBe(key);
  });

  it("are the only ones: the others run side by side", () => {
    expect(keyOf("Read", { path: "a.ts" })).toBeUndefined();
    expect(keyOf("Shell", { command: "ls" })).toBeUndefined();
    expect(keyOf("bash", {})).toBeUndefined();
  });
});
