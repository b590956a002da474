import type { ModelEvent } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { HandClock } from "../../test/hand-clock.ts";
import { failureReader } from "../http/failure-reader.ts";
import { toolName, toolNames } from "../neutral/wire-name.ts";
import { OpenAiTranslator } from "./translator.ts";

const failures = failureReader("vendor", [], new HandClock());

/** What a stream of chunks comes to; `[DONE]` stands for itself. The connection ends after the last one. */
function translate(chunks: readonly (object | "[DONE]")[], names = toolNames([])): readonly ModelEvent[] {
  const translator = new OpenAiTranslator("openai:vendor", failures, names);
  const out: ModelEvent[] = [];
  for (const chunk of chunks) {
    translator.read({ event: "", data: typeof chunk === "string" ? chunk : JSON.stringify(chunk) }, out);
  }
  if (!out.some(({ type }) => type === "finished" || type === "failed")) translator.close(out);
  return out;
}

const choice = (value: object): object => ({ choices: [{ index: 0, ...value }] });
const delta = (value: object): object => choice({ delta: value, finish_reason: null });
const finish = (reason: string): object => choice({ delta: {}, finish_reason: reason });
const piece = (value: object): object => delta({ tool_calls: [value] });

describe("OpenAiTranslator", () => {
  it('PR-01: finish_reason "" in each chunk is not an end', () => {
    const chunks = ["a", "b"].map((content) => choice({ delta: { content }, finish_reason: "" }));
    expect(translate(chunks)).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]);
    expect(translate([...chunks, finish("stop")]).at(-1)).toEqual({ type: "finished", reason: "stop", raw: "stop" });
  });

  it("[DONE] alone ends plain text, but neither a call nor silence", () => {
    expect(translate([delta({ content: "a" }), "[DONE]"]).at(-1)).toEqual({
      type: "finished",
      reason: "stop",
      raw: "",
    });
    const call = piece({ index: 0, id: "c", function: { name: "Read", arguments: "{}" } });
    expect(translate([delta({ content: "a" }), call, "[DONE]"]).at(-1)).toMatchObject({
      failure: { kind: "interrupted" },
    });
    expect(translate(["[DONE]"])).toMatchObject([{ type: "failed", failure: { kind: "interrupted" } }]);
  });

  it("a finish reason ends the answer also when the connection breaks off before the trailers", () => {
    expect(translate([delta({ content: "a" }), finish("length")])).toEqual([
      { type: "text", text: "a" },
      { type: "finished", reason: "length", raw: "length" },
    ]);
  });

  it.each([
    ["stop", "stop"],
    ["eos", "stop"],
    ["STOP", "stop"],
    ["something_new", "stop"],
    ["tool_calls", "toolCalls"],
    ["function_call", "toolCalls"],
    ["length", "length"],
    ["content_filter", "contentFilter"],
  ])("finish reason %s is %s", (raw, reason) => {
    expect(translate([finish(raw), "[DONE]"])).toEqual([{ type: "finished", reason, raw }]);
  });

  it.each(["error", "network_error", "insufficient_system_resource", "abort"])(
    "finish reason %s is a failure",
    (raw) => {
      expect(translate([delta({ content: "a" }), finish(raw)]).at(-1)).toMatchObject({
        type: "failed",
        failure: { kind: "server", retryable: true, message: expect.stringContaining(raw) },
      });
    },
  );

  it("PR-09: a refusal is a failure with the vendor's text", () => {
    expect(translate([delta({ refusal: "I cannot " }), delta({ refusal: "do that." }), finish("stop")])).toEqual([
      { type: "failed", failure: { kind: "refused", message: "I cannot do that.", retryable: false } },
    ]);
  });

  it("PR-19: a count that the vendor does not give is unknown", () => {
    const usage = (value: object) => translate([finish("stop"), { choices: [], usage: value }, "[DONE]"])[0];
    expect(usage({ prompt_tokens: 5, completion_tokens: 1 })).toEqual({
      type: "usage",
      usage: { inputTokens: 5, outputTokens: 1 },
    });
    expect(usage({ prompt_tokens: 5, prompt_tokens_details: null })).toEqual({
      type: "usage",
      usage: { inputTokens: 5 },
    });
    expect(usage({ prompt_tokens: 5, prompt_cache_hit_tokens: 4 })).toEqual({
      type: "usage",
      usage: { inputTokens: 5, cacheReadTokens: 4 },
    });
  });

  it("a usage in every chunk counts once, the last one", () => {
    const events = translate([
      { ...delta({ content: "a" }), usage: { prompt_tokens: 5, completion_tokens: 1 } },
      { ...finish("stop"), usage: { prompt_tokens: 5, completion_tokens: 2 } },
      "[DONE]",
    ]);
    expect(events.filter(({ type }) => type === "usage")).toEqual([
      { type: "usage", usage: { inputTokens: 5, outputTokens: 2 } },
    ]);
  });

  describe("tool calls", () => {
    const shapes: Readonly<Record<string, readonly object[]>> = {
      "by index": [
        piece({ index: 0, id: "a", function: { name: "Read", arguments: "" } }),
        piece({ index: 0, function: { arguments: '{"x":1}' } }),
        piece({ index: 1, id: "b", function: { name: "Grep", arguments: '{"y"' } }),
        piece({ index: 1, function: { arguments: ":2}" } }),
      ],
      "id and name with each piece": [
        piece({ index: 0, id: "a", function: { name: "Read", arguments: '{"x"' } }),
        piece({ index: 0, id: "a", function: { name: "Read", arguments: ":1}" } }),
        piece({ index: 1, id: "b", function: { name: "Grep", arguments: '{"y":2}' } }),
      ],
      "index 0 for every call": [
        piece({ index: 0, id: "a", function: { name: "Read", arguments: '{"x":1}' } }),
        piece({ index: 0, id: "b", function: { name: "Grep", arguments: '{"y":2}' } }),
      ],
      "no index": [
        piece({ id: "a", function: { name: "Read", arguments: '{"x":' } }),
        piece({ function: { arguments: "1}" } }),
        piece({ id: "b", function: { name: "Grep", arguments: '{"y":2}' } }),
      ],
      "both in one chunk, arguments as objects": [
        delta({
          tool_calls: [
            { index: 0, id: "a", function: { name: "Read", arguments: { x: 1 } } },
            { index: 1, id: "b", function: { name: "Grep", arguments: { y: 2 } } },
          ],
        }),
      ],
      "the name after the arguments": [
        piece({ index: 0, id: "a", function: { arguments: '{"x":1}' } }),
        piece({ index: 0, function: { name: "Read" } }),
        piece({ index: 1, id: "b", function: { name: "Grep", arguments: '{"y":2}' } }),
      ],
    };

    it.each(Object.entries(shapes))("%s", (_, chunks) => {
      const events = translate([...chunks, finish("tool_calls"), "[DONE]"]);
      const calls = events.filter((event) => event.type === "call");
      expect(calls).toEqual([
        { type: "call", index: 0, providerId: "a", name: "Read" },
        { type: "call", index: 1, providerId: "b", name: "Grep" },
      ]);
      const text = (index: number): string =>
        events.map((event) => (event.type === "callArguments" && event.index === index ? event.text : "")).join("");
      expect([text(0), text(1)]).toEqual(['{"x":1}', '{"y":2}']);
      expect(events.filter(({ type }) => type === "callDone")).toHaveLength(2);
      expect(events.at(-1)).toMatchObject({ type: "finished", reason: "toolCalls" });
    });

    it("come back under the tool's own name", () => {
      const tools = [{ name: "mcp.x/find" }];
      const chunk = piece({ index: 0, id: "a", function: { name: toolName("mcp.x/find"), arguments: "{}" } });
      expect(translate([chunk, finish("tool_calls")], toolNames(tools))[0]).toMatchObject({ name: "mcp.x/find" });
    });
  });

  it("reasoning ends where something else begins, and keeps the field in which it came", () => {
    const events = translate([
      delta({ reasoning: "a", reasoning_content: "a" }),
      delta({ reasoning: "b", reasoning_content: "b" }),
      piece({ index: 0, id: "c", function: { name: "Read", arguments: "{}" } }),
      delta({ reasoning: "c" }),
      finish("tool_calls"),
    ]);
    expect(events.map((event) => (event.type === "thinking" ? event.text : event.type))).toEqual([
      "a",
      "b",
      "thinkingDone",
      "call",
      "callArguments",
      "c",
      "thinkingDone",
      "callDone",
      "finished",
    ]);
    expect(events[2]).toMatchObject({ replay: { data: '{"field":"reasoning_content"}' } });
    expect(events[6]).toMatchObject({ replay: { data: '{"field":"reasoning"}' } });
  });

  it("only the first choice is read", () => {
    expect(translate([{ choices: [{ index: 1, delta: { content: "no" }, finish_reason: "stop" }] }])).toEqual([]);
  });

  it("an error in any of its forms ends it", () => {
    for (const error of [{ message: "Overloaded", code: 503 }, "Overloaded"]) {
      expect(translate([delta({ content: "a" }), { error }]).at(-1)).toMatchObject({
        type: "failed",
        failure: { kind: "overloaded" },
      });
    }
  });
});
