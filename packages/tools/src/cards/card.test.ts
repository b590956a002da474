import { describe, expect, it } from "vitest";
import type { JsonObject, ToolCallId } from "@chartroom/domain";
import { MODEL_CALL, scope, SEARCH, tools, updateOf } from "../../test/support.ts";

const cardOf = (name: string) =>
  tools.card(scope({ offers: [SEARCH] }), { id: "call_1" as ToolCallId, name, modelCallId: MODEL_CALL });

/** All updates of a card whose argument text comes in pieces of this length. */
function streamed(name: string, args: JsonObject | string, size: number) {
  const card = cardOf(name);
  const text = typeof args === "string" ? args : JSON.stringify(args);
  const frames = [];
  for (let at = 0; at < text.length; at += size)
    frames.push(...card.argumentsGrew(text.slice(0, at + size), text.slice(at, at + size)));
  return { text, updates: frames.map(updateOf), bytes: frames.reduce((sum, frame) => sum + frame.byteLength, 0) };
}

const snapshots = (updates: ReturnType<typeof streamed>["updates"]) =>
  updates.flatMap((update) => (update.case === "partialToolCall" ? [update.value.argsTextDelta] : []));
const written = (updates: ReturnType<typeof streamed>["updates"]) =>
  updates.flatMap((update) => {
    const delta = update.case === "toolCallDelta" ? update.value.toolCallDelta?.delta : undefined;
    return delta?.case === "editToolCallDelta" ? [delta.value.streamContentDelta] : [];
  });

describe("a card", () => {
  it.each([
    ["Read", "readToolCall"],
    ["Shell", "shellToolCall"],
    ["Write", "editToolCall"],
    ["StrReplace", "editToolCall"],
    ["Delete", "deleteToolCall"],
    ["Grep", "grepToolCall"],
    ["Glob", "globToolCall"],
    ["ReadLints", "readLintsToolCall"],
  ])("of %s opens with its tool case and empty arguments", (name, tool) => {
    const [frame, ...more] = cardOf(name).opened();
    expect(more).toEqual([]);
    expect(updateOf(frame!)).toMatchObject({
      case: "partialToolCall",
      value: {
        callId: "call_1",
        modelCallId: "m1",
        argsTextDelta: "",
        toolCall: { toolCallId: "call_1", tool: { case: tool } },
      },
    });
  });

  it("of an offered tool opens with the names of the offer", () => {
    expect(updateOf(cardOf("tracker-search").opened()[0]!)).toMatchObject({
      value: {
        toolCall: {
          tool: {
            case: "mcpToolCall",
            value: { args: { name: "tracker-search", toolName: "search", providerIdentifier: "tracker", args: {} } },
          },
        },
      },
    });
  });

  it("shows growing snapshots of the argument text, the last one complete", () => {
    const { text, updates } = streamed(
      "tracker-search",
      { query: "login bug", filter: { open: true }, note: "x".repeat(400) },
      7,
    );
    const shown = snapshots(updates);
    expect(shown.length).toBeGreaterThan(5);
    for (const [index, snapshot] of shown.entries()) {
      expect(text.startsWith(snapshot)).toBe(true);
      expect(snapshot.length).toBeGreaterThan(shown[index - 1]?.length ?? 0);
    }
    expect(shown.at(-1)).toBe(text);
  });

  it("sends no more than a few times the text, however small the pieces", () => {
    const { text, bytes } = streamed("tracker-search", { query: "y".repeat(100_000) }, 10);
    expect(bytes).toBeLessThan(7 * text.length);
  });

  it.each([
    ["Write", "contents"],
    ["StrReplace", "new_string"],
  ])("of %s shows its path when it is complete, then the text with plain line ends", (name, argument) => {
    const { updates } = streamed(name, { path: "src/a.ts", old_string: "no", [argument]: 'a\r\nb\n"ü😀"' }, 3);
    const partials = updates.filter((update) => update.case === "partialToolCall");
    expect(partials).toMatchObject([
      {
        value: {
          argsTextDelta: "",
          toolCall: { tool: { case: "editToolCall", value: { args: { path: "/ws/demo/src/a.ts" } } } },
        },
      },
    ]);
    expect(written(updates).join("")).toBe('a\nb\n"ü😀"');
    expect(written(updates).every((text) => text.isWellFormed() && text !== "")).toBe(true);
  });

  it("keeps a carriage return that no line feed follows", () => {
    expect(written(streamed("Write", { contents: "a\rb\r" }, 1).updates).join("")).toBe("a\rb\r");
  });

  it("is closed as failed when its call is not carried out", () => {
    const [frame] = cardOf("Read").abandoned("the model stream broke");
    expect(updateOf(frame!)).toMatchObject({
      case: "toolCallCompleted",
      value: {
        callId: "call_1",
        toolCall: {
          tool: { value: { result: { result: { case: "error", value: { errorMessage: "the model stream broke" } } } } },
        },
      },
    });
  });

  it("TL-05: does not open for a tool that is not there", () => {
    const card = cardOf("bash");
    expect([...card.opened(), ...card.argumentsGrew("{}", "{}"), ...card.abandoned("x")]).toEqual([]);
  });
});
