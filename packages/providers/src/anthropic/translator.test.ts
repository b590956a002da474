import type { ModelEvent } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { HandClock } from "../../test/hand-clock.ts";
import { failureReader } from "../http/failure-reader.ts";
import { AnthropicTranslator } from "./translator.ts";

const failures = failureReader("vendor", [], new HandClock());

function translate(events: readonly object[]): readonly ModelEvent[] {
  const translator = new AnthropicTranslator("anthropic:vendor", failures, (name) => name);
  const out: ModelEvent[] = [];
  for (const event of events) translator.read({ event: "", data: JSON.stringify(event) }, out);
  translator.close();
  return out;
}

const start = (index: number, block: object): object => ({ type: "content_block_start", index, content_block: block });
const delta = (index: number, value: object): object => ({ type: "content_block_delta", index, delta: value });
const stop = (index: number): object => ({ type: "content_block_stop", index });
const reason = (stop_reason: string | null, rest: object = {}): object => ({
  type: "message_delta",
  delta: { stop_reason, ...rest },
});
const end = { type: "message_stop" };

describe("AnthropicTranslator", () => {
  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["something_new", "stop"],
    ["tool_use", "toolCalls"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "refusal"],
  ])("stop reason %s is %s", (raw, expected) => {
    expect(translate([reason(raw), end])).toEqual([{ type: "finished", reason: expected, raw }]);
  });

  it("PR-23: without message_stop there is no end, whatever the stop reason", () => {
    expect(translate([start(0, { type: "text", text: "a" }), stop(0), reason("end_turn")])).toEqual([
      { type: "text", text: "a" },
    ]);
  });

  it("keeps redacted thinking and thinking without text for replay", () => {
    const events = translate([
      start(0, { type: "redacted_thinking", data: "b3BhcXVl" }),
      stop(0),
      start(1, { type: "thinking", thinking: "", signature: "" }),
      delta(1, { type: "signature_delta", signature: "c2" }),
      delta(1, { type: "signature_delta", signature: "ln" }),
      stop(1),
      reason("end_turn"),
      end,
    ]);
    expect(events.slice(0, 2)).toEqual([
      { type: "thinkingDone", replay: { vendor: "anthropic:vendor", data: '{"redacted":"b3BhcXVl"}' } },
      { type: "thinkingDone", replay: { vendor: "anthropic:vendor", data: '{"signature":"c2ln"}' } },
    ]);
  });

  it("takes the whole input from the start of a block when no pieces follow", () => {
    const events = translate([
      start(3, { type: "tool_use", id: "a", name: "Read", input: { path: "x" } }),
      stop(3),
      reason("tool_use"),
      end,
    ]);
    expect(events).toEqual([
      { type: "call", index: 0, providerId: "a", name: "Read" },
      { type: "callArguments", index: 0, text: '{"path":"x"}' },
      { type: "callDone", index: 0 },
      { type: "finished", reason: "toolCalls", raw: "tool_use" },
    ]);
  });

  it("a call whose block was never closed is cut, message_stop or not", () => {
    const events = translate([
      start(0, { type: "tool_use", id: "a", name: "Read", input: {} }),
      reason("tool_use"),
      end,
    ]);
    expect(events.at(-1)).toMatchObject({ type: "failed", failure: { kind: "interrupted" } });
  });

  it("PR-09: a refusal that is explained fails with the explanation", () => {
    const refused = reason("refusal", { stop_details: { type: "refusal", category: "bio", explanation: "Not this." } });
    expect(translate([refused, end])).toEqual([
      { type: "failed", failure: { kind: "refused", message: "Not this.", retryable: false } },
    ]);
  });

  it("PR-19: counts that are not given stay unknown, and pieces come together", () => {
    const events = translate([
      { type: "message_start", message: { usage: { input_tokens: 10 } } },
      { ...reason("end_turn"), usage: { output_tokens: 7, output_tokens_details: { thinking_tokens: 3 } } },
      end,
    ]);
    expect(events.filter(({ type }) => type === "usage")).toEqual([
      { type: "usage", usage: { inputTokens: 10 } },
      { type: "usage", usage: { inputTokens: 10, outputTokens: 7, reasoningTokens: 3 } },
    ]);
  });
});
