import { describe, expect, it } from "vitest";
import { play, SEARCH } from "../../test/support.ts";

type Reply = Parameters<ReturnType<typeof play>["reply"]>[0];
const mcpResult = (result: object): Reply => ({ case: "mcpResult", value: { result } }) as Reply;
const success = (value: object) => mcpResult({ case: "success", value });
const text = (value: string) => ({ content: { case: "text", value: { text: value } } });
const image = (data: Uint8Array, mimeType = "image/png") => ({ content: { case: "image", value: { data, mimeType } } });

function begun(args: Parameters<typeof play>[1] = { query: "login bug" }, offer = SEARCH) {
  const game = play(offer.name, args, { offers: [offer] });
  game.begin();
  return game;
}

describe("an offered tool", () => {
  it("is asked for by the names of its offer (example 4)", () => {
    const game = begun({ query: "login bug", deep: { list: [1, null, true, "x"] } });
    const args = {
      name: "tracker-search",
      toolName: "search",
      providerIdentifier: "tracker",
      serverIdentifier: "tracker",
      toolCallId: "call_1",
      args: {
        query: { kind: { case: "stringValue", value: "login bug" } },
        deep: { kind: { case: "structValue", value: { fields: { list: { kind: { case: "listValue" } } } } } },
      },
    };
    expect(game.updates()).toMatchObject([
      {
        case: "toolCallStarted",
        value: { toolCall: { toolCallId: "call_1", tool: { case: "mcpToolCall", value: { args } } } },
      },
    ]);
    expect(game.execs()).toMatchObject([{ exec: { execId: "call_1", message: { case: "mcpArgs", value: args } } }]);
    expect(game.execs()[0]?.exec.message.value).toMatchObject({ smartModeApprovalOnly: false, skipApproval: false });
    game.reply(success({ content: [text("#42 login fails"), text("#43")] }));
    expect(game.result()).toMatchObject({ toolName: "tracker-search", isError: false, text: "#42 login fails\n#43" });
    expect(game.completed().tool).toMatchObject({
      case: "mcpToolCall",
      value: {
        args,
        result: { result: { case: "success", value: { content: [text("#42 login fails"), text("#43")] } } },
      },
    });
  });

  it("gives a picture, and tells of further ones", () => {
    const game = begun();
    const one = new Uint8Array([1]);
    game.reply(success({ content: [text("see"), image(one), image(new Uint8Array([2, 3]), "image/webp")] }));
    expect(game.result()).toMatchObject({
      text: "see\n[picture, image/png, 1 bytes]\n[picture, image/webp, 2 bytes, not shown]",
      image: { type: "image", mimeType: "image/png" },
    });
    expect(game.settled()?.blobs).toMatchObject([{ data: one }]);
  });

  it("gives structured content where there is no other, and output that lies in a file", () => {
    const structured = begun();
    structured.reply(success({ structuredContent: { hits: [1] } }));
    expect(structured.result().text).toBe('{"hits":[1]}');
    const both = begun();
    both.reply(success({ content: [text("1 hit")], structuredContent: { hits: [1] } }));
    expect(both.result().text).toBe("1 hit");
    const located = begun();
    const outputLocation = { filePath: "/tmp/out", sizeBytes: 9n, lineCount: 1n };
    located.reply(success({ content: [{ content: { case: "text", value: { text: "cut", outputLocation } } }] }));
    expect(located.result().text).toBe("cut\n[The full text (9 bytes) is in /tmp/out.]");
    const nothing = begun();
    nothing.reply(success({}));
    expect(nothing.result()).toMatchObject({ text: "(no content)", isError: false });
  });

  it("takes is_error for an error", () => {
    const game = begun();
    game.reply(success({ content: [text("no such project")], isError: true }));
    expect(game.result()).toMatchObject({ isError: true, text: "no such project" });
    expect(game.completed().tool).toMatchObject({
      value: { result: { result: { case: "success", value: { isError: true } } } },
    });
  });

  it.each([
    [{ case: "error", value: { error: "boom" } }, "error", "boom"],
    [{ case: "error", value: {} }, "error", "The tool failed without a reason."],
    [
      { case: "rejected", value: { reason: "not now", isReadonly: true } },
      "rejected",
      "The call was rejected: not now",
    ],
    [
      { case: "permissionDenied", value: { error: "team policy" } },
      "permissionDenied",
      "Permission denied: team policy",
    ],
    [
      { case: "toolNotFound", value: { name: "search", availableTools: ["find", "list"] } },
      "error",
      "The client has no tool search. It has: find, list.",
    ],
    [{ case: "serverNotFound", value: {} }, "error", "The client has no server tracker."],
    [{ case: undefined }, "error", "The client answered with mcpResult, in which there is no result for this tool."],
  ])("takes %j as a tool error", (result, variant, message) => {
    const game = begun();
    game.reply(mcpResult(result));
    expect(game.result()).toMatchObject({ isError: true, text: message });
    expect(game.completed().tool).toMatchObject({ value: { result: { result: { case: variant } } } });
  });

  it("waits for the result behind an approval", () => {
    const game = begun();
    expect(game.reply(mcpResult({ case: "approved", value: {} }))).toEqual([{ type: "renew" }]);
    game.reply(success({ content: [text("done")] }));
    expect(game.result().text).toBe("done");
  });

  it("TL-14: takes a wrapper off where the schema shows that it is one", () => {
    const game = begun({ arguments: { query: "q" } });
    expect(game.execs()[0]?.exec.message.value).toMatchObject({ args: { query: { kind: { value: "q" } } } });
    const meant = begun({ input: { a: 1 } }, { ...SEARCH, inputSchema: { type: "object", properties: { input: {} } } });
    expect(Object.keys((meant.execs()[0]!.exec.message.value as { args: object }).args)).toEqual(["input"]);
    const free = begun({ args: { a: 1 } }, { ...SEARCH, inputSchema: { type: "object" } });
    expect(Object.keys((free.execs()[0]!.exec.message.value as { args: object }).args)).toEqual(["args"]);
  });

  it("is not asked for without an argument that its schema demands", () => {
    const game = begun({ q: "x" });
    expect(game.types()).toEqual(["settled"]);
    expect(game.result().text).toContain("query is missing");
  });

  it("takes argument names that objects have by nature", () => {
    const game = begun('{"query":"q","__proto__":{"x":1},"constructor":"c","toString":1}');
    const { args } = game.execs()[0]!.exec.message.value as { args: Record<string, unknown> };
    expect(Object.keys(args).toSorted()).toEqual(expect.arrayContaining(["constructor", "query", "toString"]));
  });
});
