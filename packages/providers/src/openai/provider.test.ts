import { KEY, providerContract } from "../../test/contract.ts";

const chunk = (choice: object, rest: object = {}): string =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "vendor-m-1", choices: [{ index: 0, finish_reason: null, ...choice }], ...rest })}\n\n`;
const delta = (value: object): string => chunk({ delta: value });
const call = (index: number, value: object): string => delta({ tool_calls: [{ index, ...value }] });

providerContract("OpenAI chat", {
  config: (url) => ({
    id: "vendor",
    kind: "openai",
    baseUrl: `${url}/v1`,
    apiKey: KEY,
    models: [{ id: "m", upstream: "vendor-m-1" }],
  }),
  answer: [
    delta({ role: "assistant", content: "" }),
    delta({ reasoning_content: "hm, " }),
    delta({ reasoning_content: "ok" }),
    delta({ content: "Grüße, " }),
    delta({ content: "世界 🙂" }),
    call(0, { id: "call_a", type: "function", function: { name: "Read", arguments: "" } }),
    call(0, { function: { arguments: '{"path":' } }),
    call(0, { function: { arguments: '"ä.txt"}' } }),
    call(1, { id: "call_b", type: "function", function: { name: "Read", arguments: '{"path":"b"}' } }),
    chunk({ delta: {}, finish_reason: "tool_calls" }),
    `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", choices: [], usage: { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 64 }, completion_tokens_details: { reasoning_tokens: 5 } } })}\n\n`,
    "data: [DONE]\n\n",
  ],
  events: [
    { type: "thinking", text: "hm, " },
    { type: "thinking", text: "ok" },
    { type: "thinkingDone", replay: { vendor: "vendor", data: '{"field":"reasoning_content"}' } },
    { type: "text", text: "Grüße, " },
    { type: "text", text: "世界 🙂" },
    { type: "call", index: 0, providerId: "call_a" as never, name: "Read" },
    { type: "callArguments", index: 0, text: '{"path":' },
    { type: "callArguments", index: 0, text: '"ä.txt"}' },
    { type: "callDone", index: 0 },
    { type: "call", index: 1, providerId: "call_b" as never, name: "Read" },
    { type: "callArguments", index: 1, text: '{"path":"b"}' },
    { type: "callDone", index: 1 },
    { type: "usage", usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 64, reasoningTokens: 5 } },
    { type: "finished", reason: "toolCalls", raw: "tool_calls" },
  ],
  complete: 10,
  more: delta({ content: "x" }),
  noise: [
    ": keep-alive\n\n",
    'event: unknown\nid: 7\nretry: 5\ndata: {"object":"something.new","x":[1]}\n\n',
    delta({ brand_new: { a: 1 } }),
  ],
  overloaded: `data: ${JSON.stringify({ error: { message: "The engine is overloaded", type: "server_error", code: "engine_overloaded" } })}\n\n`,
  errorBody: (message) => JSON.stringify({ error: { message, type: "some_error", param: null, code: null } }),
});
