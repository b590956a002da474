import { describe, expect, it } from "vitest";
import { play } from "../../test/support.ts";

type Reply = Parameters<ReturnType<typeof play>["reply"]>[0];
const readResult = (result: object): Reply => ({ case: "readResult", value: { result } }) as Reply;
const writeResult = (result: object): Reply => ({ case: "writeResult", value: { result } }) as Reply;
const holds = (content: string, rest: object = {}) =>
  readResult({ case: "success", value: { output: { case: "content", value: content }, ...rest } });
const absent = readResult({ case: "fileNotFound", value: {} });
const wrongKind: Reply = { case: "grepResult", value: {} };
const written = writeResult({ case: "success", value: { path: "/f" } });
const replaceArgs = { path: "/f", old_string: "b", new_string: "B" };

function begun(tool: string, args: Parameters<typeof play>[1]) {
  const game = play(tool, args);
  game.begin();
  return game;
}

describe("StrReplace", () => {
  it("reads, writes the whole file, and shows one card with the change", () => {
    const game = begun("StrReplace", replaceArgs);
    game.reply(holds("a\nb\nc\n"));
    game.reply(written);
    expect(game.types()).toEqual(["update", "exec", "renew", "exec", "settled"]);
    expect(game.execs().map(({ exec }) => exec)).toMatchObject([
      { id: 1, execId: "call_1", message: { case: "readArgs", value: { path: "/f", toolCallId: "call_1" } } },
      {
        id: 2,
        execId: "call_1",
        message: {
          case: "writeArgs",
          value: { path: "/f", fileText: "a\nB\nc\n", toolCallId: "call_1", returnFileContentAfterWrite: true },
        },
      },
    ]);
    expect(game.result()).toMatchObject({
      isError: false,
      text: "Edited /f: 1 replacement, the first at line 2 (1 line added, 1 removed).",
    });
    expect(game.completed().tool).toMatchObject({
      case: "editToolCall",
      value: {
        args: { path: "/f", streamContent: "B" },
        result: {
          result: {
            case: "success",
            value: {
              path: "/f",
              linesAdded: 1,
              linesRemoved: 1,
              diffString: "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
              beforeFullFileContent: "a\nb\nc\n",
              afterFullFileContent: "a\nB\nc\n",
            },
          },
        },
      },
    });
  });

  it.each([
    [holds("x\n"), "editToolCall: error", /not found in the file/],
    [holds("b b"), "editToolCall: error", /stands in 2 places/],
    [absent, "editToolCall: fileNotFound", /^File not found: \/f$/],
    [
      readResult({ case: "permissionDenied", value: {} }),
      "editToolCall: readPermissionDenied",
      /^Permission denied: \/f$/,
    ],
    [
      readResult({ case: "rejected", value: { reason: "no" } }),
      "editToolCall: rejected",
      /^Editing \/f was rejected: no$/,
    ],
    [readResult({ case: "error", value: { error: "EIO" } }), "editToolCall: error", /^Could not edit \/f: EIO\.$/],
    [readResult({ case: "invalidFile", value: {} }), "editToolCall: error", /not a readable file/],
    [readResult({ case: undefined }), "editToolCall: error", /without a result/],
    [wrongKind, "editToolCall: error", /grepResult/],
    [holds("b", { truncated: true }), "editToolCall: error", /too large/],
    [holds("b\n", { totalLines: 9 }), "editToolCall: error", /too large/],
    [readResult({ case: "success", value: { outputBlobId: new Uint8Array(32) } }), "editToolCall: error", /too large/],
    [
      readResult({ case: "success", value: { output: { case: "data", value: new Uint8Array([0]) } } }),
      "editToolCall: error",
      /binary/,
    ],
  ])("writes nothing after %j", (reply, card, text) => {
    const game = begun("StrReplace", replaceArgs);
    game.reply(reply);
    expect(game.execs()).toHaveLength(1);
    expect(game.result().isError).toBe(true);
    expect(game.result().text).toMatch(text);
    const { tool } = game.completed();
    expect(`${tool.case}: ${tool.case === "editToolCall" ? tool.value.result?.result.case : ""}`).toBe(card);
  });

  it("writes once, however often the read is answered", () => {
    const game = begun("StrReplace", replaceArgs);
    game.reply(holds("b"));
    expect(game.reply(holds("b"), "read")).toEqual([]);
    expect(game.control({ kind: "throw", execId: 1, message: "late" }, "read")).toEqual([]);
    expect(game.execs()).toHaveLength(2);
  });

  it("takes a file whose last line end is counted as a line for whole", () => {
    const game = begun("StrReplace", replaceArgs);
    game.reply(holds("a\nb\n", { totalLines: 3 }));
    expect(game.execs()).toHaveLength(2);
  });

  it.each([
    [
      { case: "permissionDenied", value: { error: "EACCES", isReadonly: true } },
      "writePermissionDenied",
      "Permission denied: /f: EACCES",
    ],
    [{ case: "noSpace", value: {} }, "error", "/f was not written: no space left on the device."],
    [{ case: "error", value: { error: "EIO" } }, "error", "Could not write /f: EIO"],
    [{ case: "rejected", value: { reason: "not this one" } }, "rejected", "Editing /f was rejected: not this one"],
    [{ case: undefined }, "error", "The client answered without a result that this server understands."],
  ])("takes the write result %j", (result, variant, text) => {
    const game = begun("StrReplace", replaceArgs);
    game.reply(holds("b"));
    game.reply(writeResult(result));
    expect(game.result()).toMatchObject({ isError: true, text });
    expect(game.completed().tool).toMatchObject({ value: { result: { result: { case: variant } } } });
  });

  it("shows what the client really saved", () => {
    const game = begun("StrReplace", replaceArgs);
    game.reply(holds("b"));
    game.reply(writeResult({ case: "success", value: { fileContentAfterWrite: "B;\n" } }));
    expect(game.result().text).toContain("The client changed the text while saving it");
    expect(game.completed().tool).toMatchObject({
      value: { result: { result: { value: { afterFullFileContent: "B;\n" } } } },
    });
  });
});

describe("Write", () => {
  const args = { path: "sub/f.txt", contents: "a\nb\n" };

  it("makes a file", () => {
    const game = begun("Write", args);
    game.reply(absent);
    expect(game.execs()[1]?.exec.message.value).toMatchObject({ path: "/ws/demo/sub/f.txt", fileText: "a\nb\n" });
    game.reply(written);
    expect(game.result()).toMatchObject({ isError: false, text: "Created /ws/demo/sub/f.txt (2 lines)." });
    const { tool } = game.completed();
    expect(tool).toMatchObject({
      value: { result: { result: { value: { linesAdded: 2, linesRemoved: 0, afterFullFileContent: "a\nb\n" } } } },
    });
    expect(
      tool.case === "editToolCall" &&
        tool.value.result?.result.case === "success" &&
        tool.value.result.result.value.beforeFullFileContent,
    ).toBeUndefined();
  });

  it("replaces a text, and a file that it cannot read as text", () => {
    const known = begun("Write", args);
    known.reply(holds("a\nx\n"));
    known.reply(written);
    expect(known.result().text).toBe("Replaced the text of /ws/demo/sub/f.txt (2 lines; 1 added, 1 removed).");
    for (const reply of [
      readResult({ case: "error", value: { error: "ENOENT" } }),
      readResult({ case: "success", value: { output: { case: "data", value: new Uint8Array([0]) } } }),
    ]) {
      const game = begun("Write", args);
      game.reply(reply);
      game.reply(written);
      expect(game.result()).toMatchObject({ isError: false, text: "Replaced /ws/demo/sub/f.txt (2 lines)." });
    }
  });

  it("keeps the line ends of a file that has CRLF throughout, and only then", () => {
    const crlf = begun("Write", args);
    crlf.reply(holds("x\r\ny\r\n"));
    expect(crlf.execs()[1]?.exec.message.value).toMatchObject({ fileText: "a\r\nb\r\n" });
    const mixed = begun("Write", args);
    mixed.reply(holds("x\r\ny\r\nz\n"));
    expect(mixed.execs()[1]?.exec.message.value).toMatchObject({ fileText: "a\nb\n" });
  });

  it("writes nothing where reading was refused", () => {
    for (const result of [
      { case: "rejected", value: {} },
      { case: "permissionDenied", value: {} },
    ]) {
      const game = begun("Write", args);
      game.reply(readResult(result));
      expect(game.execs()).toHaveLength(1);
      expect(game.result().isError).toBe(true);
    }
  });
});

describe("an edit whose stream is lost", () => {
  const keys = (effects: readonly { readonly type: string; readonly key?: string }[]) =>
    effects.map(({ type, key }) => `${type} ${key}`);

  it("reads again while it was reading", () => {
    const game = begun("StrReplace", replaceArgs);
    expect(keys(game.take(game.execution.reissue()))).toEqual(["exec read"]);
    game.reply(holds("b"));
    game.reply(written);
    expect(game.result().isError).toBe(false);
  });

  it.each([
    ["is as before", holds("b"), ["exec write"], undefined],
    ["was written", holds("B"), [], false],
    ["is another", holds("c"), [], true],
    ["is gone", absent, [], true],
  ])("looks first whether the file %s", (_, reply, then, isError) => {
    const game = begun("StrReplace", replaceArgs);
    game.reply(holds("b"));
    expect(keys(game.take(game.execution.reissue()))).toEqual(["exec verify"]);
    // what the old stream still brings about the write is not asked for any more
    expect(game.reply(written, "write")).toEqual([]);
    const effects = game.reply(reply, "verify");
    expect(keys(effects).filter((effect) => effect.startsWith("exec"))).toEqual(then);
    if (isError === undefined) game.reply(written, "write");
    expect(game.result().isError).toBe(isError ?? false);
  });

  it("writes a new file again when it is still not there", () => {
    const game = begun("Write", { path: "/f", contents: "a" });
    game.reply(absent);
    game.take(game.execution.reissue());
    expect(keys(game.reply(absent, "verify"))).toEqual(["renew undefined", "exec write"]);
  });
});
