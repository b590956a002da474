import { KEY, providerContract } from "../../test/contract.ts";

const event = (type: string, value: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;
const delta = (index: number, value: object): string => event("content_block_delta", { index, delta: value });
const start = (index: number, block: object): string => event("content_block_start", { index, content_block: block });
const stop = (index: number): string => event("content_block_stop", { index });

providerContract("Anthropic messages", {
  config: (url) => ({
    id: "vendor",
    kind: "anthropic",
    baseUrl: url,
    apiKey: KEY,
    models: [{ id: "m", upstream: "vendor-m-1" }],
  }),
  answer: [
    event("message_start", {
      message: {
        id: "msg_1",
        usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 90, cache_creation_input_tokens: 5 },
      },
    }),
    start(0, { type: "thinking", thinking: "", signature: "" }),
    event("ping"),
    delta(0, { type: "thinking_delta", thinking: "hm" }),
    delta(0, { type: "signature_delta", signature: "c2ln" }),
    stop(0),
    start(1, { type: "text", text: "" }),
    delta(1, { type: "text_delta", text: "Grüße, " }),
    delta(1, { type: "text_delta", text: "世界 🙂" }),
    stop(1),
    start(2, { type: "tool_use", id: "toolu_a", name: "Read", input: {} }),
    delta(2, { type: "input_json_delta", partial_json: "" }),
    delta(2, { type: "input_json_delta", partial_json: '{"path":' }),
    delta(2, { type: "input_json_delta", partial_json: '"ä.txt"}' }),
    stop(2),
    start(3, { type: "tool_use", id: "toolu_b", name: "Read", input: {} }),
    delta(3, { type: "input_json_delta", partial_json: '{"path":"b"}' }),
    stop(3),
    event("message_delta", { delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 20 } }),
    event("message_stop"),
  ],
  events: [
    { type: "usage", usage: { inputTokens: 105, outputTokens: 1, cacheReadTokens: 90, cacheWriteTokens: 5 } },
    { type: "thinking", text: "hm" },
    { type: "thinkingDone", replay: { vendor: "vendor", data: '{"signature":"c2ln"}' } },
    { type: "text", text: "Grüße, " },
    { type: "text", text: "世界 🙂" },
    { type: "call", index: 0, providerId: "toolu_a" as never, name: "Read" },
    { type: "callArguments", index: 0, text: '{"path":' },
    { type: "callArguments", index: 0, text: '"ä.txt"}' },
    { type: "callDone", index: 0 },
    { type: "call", index: 1, providerId: "toolu_b" as never, name: "Read" },
    { type: "callArguments", index: 1, text: '{"path":"b"}' },
    { type: "callDone", index: 1 },
    { type: "usage", usage: { inputTokens: 105, outputTokens: 20, cacheReadTokens: 90, cacheWriteTokens: 5 } },
    { type: "finished", reason: "toolCalls", raw: "tool_use" },
  ],
  complete: 20,
  more: delta(1, { type: "text_delta", text: "x" }),
  noise: [
    ": keep-alive\n\n",
    event("ping"),
    event("brand_new", { index: 9, x: [1] }),
    delta(1, { type: "brand_new_delta", x: 1 }),
    start(17, { type: "brand_new_block" }),
    stop(17),
  ],
  overloaded: event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
  errorBody: (message) =>
    JSON.stringify({ type: "error", error: { type: "some_error", message }, request_id: "req_1" }),
});
