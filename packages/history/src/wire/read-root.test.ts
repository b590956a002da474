import { blobId, toBase64 } from "@chartroom/protocol";
import { describe, expect, test } from "vitest";
import { readRoot } from "./read-root.ts";

const BLOB = blobId(new Uint8Array());
const read = (json: unknown) => readRoot(typeof json === "string" ? json : JSON.stringify(json), BLOB, 3);
const only = (json: unknown) => {
  const { messages } = read(json);
  expect(messages).toHaveLength(1);
  return messages[0]!;
};

describe("user messages of other writers", () => {
  test("text as a string, as parts, with an id that is not ours", () => {
    for (const content of ["hi", [{ type: "text", text: "hi" }]]) {
      const message = only({ role: "user", content, id: "msg-1" });
      expect(message).toMatchObject({
        role: "user",
        origin: "user",
        content: { kind: "parts", parts: [{ type: "text", text: "hi" }] },
      });
      expect(message.id).toBe(`imported:3:${BLOB}`);
    }
  });

  test("an id of our form in a text that is not byte for byte ours is not believed", () => {
    const json = { role: "user", content: [{ type: "text", text: "hi" }], id: "user-message:m1.x" };
    expect(only(json).id).toBe("user-message:m1.x");
    expect(only(JSON.stringify(json, undefined, 1)).id).toBe(`imported:3:${BLOB}`);
    expect(only({ ...json, extra: 1 }).id).toBe(`imported:3:${BLOB}`);
  });

  test.each(["base64", "data URL"])("a picture as %s becomes a blob of its own", (form) => {
    const data = new Uint8Array([1, 2, 3]);
    const image = form === "base64" ? toBase64(data) : `data:image/jpeg;base64,${toBase64(data)}`;
    const mime = form === "base64" ? { mimeType: "image/jpeg" } : {};
    const found = read({ role: "user", content: [{ type: "image", image, ...mime }] });
    expect(found.images.map((blob) => [...blob.data])).toEqual([[1, 2, 3]]);
    expect(found.messages[0]!.content).toEqual({
      kind: "parts",
      parts: [{ type: "image", blob: blobId(data), mimeType: "image/jpeg" }],
    });
  });

  test("a part of an unknown kind and a picture by address are left out and reported", () => {
    const content = [
      { type: "file", data: "x" },
      { type: "image", image: "https://example.org/a.png" },
      { type: "text", text: "hi" },
    ];
    const found = read({ role: "user", content });
    expect(found.problems.map((problem) => problem.kind)).toEqual(["unreadable-part", "unreadable-part"]);
    expect(found.messages[0]!.content).toEqual({ kind: "parts", parts: [{ type: "text", text: "hi" }] });
  });
});

describe("assistant messages of other writers", () => {
  test("text as a string; calls with arguments as an object, as a text, and with none", () => {
    expect(only({ role: "assistant", content: "hi", id: "1" }).content).toMatchObject({
      record: { blocks: [{ type: "text", text: "hi" }], calls: [] },
    });
    const calls = [
      { type: "tool-call", toolCallId: "a", toolName: "Read", args: { b: 1, a: 2 } },
      { type: "tool-call", toolCallId: "b", toolName: "Read", args: '{ "x": 1 }' },
      { type: "tool-call", toolCallId: "c", toolName: "Read", input: { y: 2 } },
      { type: "tool-call", toolCallId: "d", toolName: "Read" },
      { type: "tool-call", toolName: "Read", args: {} },
    ];
    const { content } = only({ role: "assistant", content: calls, id: "1" });
    const made = content.kind === "assistant" ? content.record.calls : [];
    expect(made.map((call) => call.arguments)).toEqual(['{"b":1,"a":2}', '{ "x": 1 }', '{"y":2}', "", "{}"]);
    expect(made.map((call) => call.index)).toEqual([0, 1, 2, 3, 4]);
    expect(made[4]!.id).toMatch(/^call_[0-9a-f]{24}$/u);
  });

  test("a signature of another server goes back to nobody; its text stays", () => {
    const part = {
      type: "reasoning",
      text: "hm",
      signature: "opaque",
      providerOptions: { cursor: { modelName: "some-model" } },
    };
    const { content } = only({ role: "assistant", content: [part], id: "1" });
    expect(content.kind === "assistant" && content.record.blocks).toEqual([
      { type: "thinking", text: "hm", replay: { vendor: "foreign:some-model", data: "opaque" } },
    ]);
  });

  test("text after a call is read as text before it, and reported", () => {
    const content = [
      { type: "tool-call", toolCallId: "a", toolName: "Read", args: {} },
      { type: "text", text: "late" },
    ];
    const found = read({ role: "assistant", content });
    expect(found.messages[0]!.content).toMatchObject({ record: { blocks: [{ text: "late" }], calls: [{ id: "a" }] } });
    expect(found.problems.map((problem) => problem.kind)).toEqual(["text-after-call"]);
  });
});

describe("tool messages of other writers", () => {
  test("several results in one message become several, of which the first stands for the blob", () => {
    const part = (toolCallId: string) => ({ type: "tool-result", toolCallId, toolName: "Read", result: toolCallId });
    expect(read({ role: "tool", content: [part("a"), part("b")] }).messages.map((message) => message.id)).toEqual([
      `imported:3:${BLOB}`,
      `imported:3.1:${BLOB}`,
    ]);
  });

  test.each([
    [{ result: "text" }, "text"],
    [{ result: { a: 1 } }, '{"a":1}'],
    [{ output: { type: "text", value: "newer" } }, "newer"],
    [{ output: { type: "json", value: [1] } }, "[1]"],
    [{ result: {}, experimental_content: [{ type: "text", text: "rich" }] }, "rich"],
    [{}, ""],
  ])("a result as %j is %j", (given, text) => {
    const part = { type: "tool-result", toolCallId: "a", toolName: "Read", isError: true, ...given };
    expect(only({ role: "tool", content: [part] }).content).toMatchObject({
      result: { callId: "a", text, isError: true },
    });
  });
});

test.each(["", "{", "[]", '"x"', '{"role":"robot"}', '{"content":"x"}'])(
  "what is no message is left out and reported: %j",
  (text) => {
    const found = read(text);
    expect(found.messages).toEqual([]);
    expect(found.problems.map((problem) => problem.kind)).toEqual(["unreadable-message"]);
  },
);

test("the compiled system text is nothing of the history; a client's own is its first message", () => {
  expect(read({ role: "system", content: "x", id: "prompt:system" })).toMatchObject({ messages: [], system: true });
  expect(only({ role: "system", content: "x" })).toMatchObject({ role: "system", origin: "prompt" });
});
