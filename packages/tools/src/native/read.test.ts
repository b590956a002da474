import { describe, expect, it } from "vitest";
import { agent } from "@chartroom/protocol";
import { play } from "../../test/support.ts";

const success = (init: object) =>
  ({ case: "readResult", value: { result: { case: "success", value: init } } }) as const;
const readResult = (result: object) =>
  ({ case: "readResult", value: { result } }) as Parameters<ReturnType<typeof play>["reply"]>[0];

describe("Read", () => {
  it("starts its card, asks the client, and completes with numbered lines (example 2)", () => {
    const game = play("Read", { path: "/ws/demo/README.md" });
    game.begin();
    expect(game.types()).toEqual(["update", "exec"]);
    expect(game.updates()[0]).toMatchObject({
      case: "toolCallStarted",
      value: {
        callId: "call_1",
        modelCallId: "m1",
        toolCall: {
          toolCallId: "call_1",
          startedAtMs: 1_767_225_600_000n,
          tool: { case: "readToolCall", value: { args: { path: "/ws/demo/README.md" } } },
        },
      },
    });
    expect(game.execs()).toMatchObject([
      {
        exec: {
          id: 1,
          execId: "call_1",
          acceptHookAdditionalContexts: true,
          message: { case: "readArgs", value: { path: "/ws/demo/README.md", toolCallId: "call_1" } },
        },
      },
    ]);
    game.reply(
      success({
        path: "/ws/demo/README.md",
        output: { case: "content", value: "# Demo\n" },
        totalLines: 1,
        fileSize: 7n,
      }),
    );
    expect(game.result()).toMatchObject({ callId: "call_1", toolName: "Read", text: "     1|# Demo", isError: false });
    expect(game.completed()).toMatchObject({
      toolCallId: "call_1",
      startedAtMs: 1_767_225_600_000n,
      completedAtMs: 1_767_225_600_010n,
      tool: {
        value: {
          args: { path: "/ws/demo/README.md" },
          result: { result: { case: "success", value: { output: { value: "# Demo\n" }, totalLines: 1, fileSize: 7 } } },
        },
      },
    });
  });

  it("passes the range on, and numbers the lines from it", () => {
    const game = play("Read", { path: "a.ts", offset: 3, limit: 2 });
    game.begin();
    expect(game.execs()[0]?.exec.message.value).toMatchObject({ path: "/ws/demo/a.ts", offset: 3, limit: 2 });
    game.reply(success({ output: { case: "content", value: "c\nd\n" }, totalLines: 9, rangeApplied: true }));
    expect(game.result().text).toBe("     3|c\n     4|d\n\n[Lines 3 to 4 of 9.]");
  });

  it("cuts the range out where the client gave the whole file", () => {
    const game = play("Read", { path: "a.ts", offset: 2, limit: 1 });
    game.begin();
    game.reply(success({ output: { case: "content", value: "a\nb\nc" }, totalLines: 3 }));
    expect(game.result().text).toBe("     2|b\n\n[Lines 2 to 2 of 3.]");
  });

  it("tells of an empty file, of lines that are not there, and of content that was cut off", () => {
    const text = (args: object, init: object) => {
      const game = play("Read", { path: "a", ...args });
      game.begin();
      game.reply(success(init));
      return game.result();
    };
    expect(text({}, { output: { case: "content", value: "" } })).toMatchObject({
      text: "The file is empty.",
      isError: false,
    });
    expect(text({}, {})).toMatchObject({ text: "The file is empty.", isError: false });
    expect(
      text({ offset: 9 }, { output: { case: "content", value: "" }, totalLines: 3, rangeApplied: true }).text,
    ).toBe("No lines there: the file has 3 lines, line 9 was asked for.");
    expect(text({}, { output: { case: "content", value: "a\n" }, totalLines: 5, truncated: true }).text).toBe(
      "     1|a\n\n[The client cut this content off. Read the rest with offset and limit. Lines 1 to 1 of 5.]",
    );
    expect(text({}, { outputBlobId: new Uint8Array(32) })).toMatchObject({ isError: true });
  });

  it("gives a picture by its content address, with its bytes to store", () => {
    const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
    const game = play("Read", { path: "/ws/demo/logo.png" });
    game.begin();
    game.reply(success({ output: { case: "data", value: png }, fileSize: 11n }));
    const { image, text, isError } = game.result();
    expect(isError).toBe(false);
    expect(text).toBe("Picture /ws/demo/logo.png (image/png, 11 bytes).");
    expect(image).toMatchObject({ type: "image", mimeType: "image/png", name: "logo.png" });
    expect(game.settled()?.blobs).toEqual([{ id: image?.blob, data: png }]);
    expect(image?.blob).toMatch(/^[0-9a-f]{64}$/);
    expect(game.completed().tool.value).toMatchObject({
      result: { result: { value: { output: { case: "data", value: png } } } },
    });
  });

  it("does not show other binary data", () => {
    const game = play("Read", { path: "a.bin" });
    game.begin();
    game.reply(success({ output: { case: "data", value: new Uint8Array([0, 1]) } }));
    expect(game.result()).toMatchObject({
      isError: true,
      text: "/ws/demo/a.bin is a binary file of 2 bytes that is not a picture.",
    });
    expect(game.settled()?.blobs).toEqual([]);
  });

  it.each([
    [{ case: "error", value: { error: "EIO" } }, "Could not read /f: EIO"],
    [{ case: "rejected", value: { reason: "no" } }, "Reading /f was rejected: no"],
    [{ case: "rejected", value: {} }, "Reading /f was rejected."],
    [{ case: "fileNotFound", value: { path: "/f" } }, "File not found: /f"],
    [{ case: "permissionDenied", value: {} }, "Permission denied: /f"],
    [{ case: "invalidFile", value: { reason: "a folder" } }, "/f cannot be read: a folder"],
    [{ case: undefined }, "The client answered with readResult, in which there is no result for this tool."],
  ])("takes %j as a tool error", (result, text) => {
    const game = play("Read", { path: "/f" });
    game.begin();
    game.reply(readResult(result));
    expect(game.result()).toMatchObject({ isError: true, text });
    expect(game.completed().tool).toMatchObject({
      case: "readToolCall",
      value: { result: { result: { case: "error", value: { errorMessage: text } } } },
    });
  });

  it("stores the whole card with the result, and draws it again from there", () => {
    const game = play("Read", { path: "/f" });
    game.begin();
    game.reply(success({ output: { case: "content", value: "x" }, totalLines: 1 }));
    expect(game.result().display).toBeInstanceOf(Uint8Array);
    expect(game.completed().$typeName).toBe(agent.ToolCallSchema.typeName);
  });
});
