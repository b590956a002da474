import { describe, expect, it } from "vitest";
import { classifyEvent, classifyStatus } from "./classify.ts";
import { errorBody } from "./error-body.ts";

const openai = (message: string, code: string | null = null, type = "invalid_request_error"): string =>
  JSON.stringify({ error: { message, type, param: null, code } });
const anthropic = (type: string, message: string): string =>
  JSON.stringify({ type: "error", error: { type, message } });

describe("classifyStatus", () => {
  it.each([
    [400, openai("Unsupported parameter: 'max_tokens'", "unsupported_parameter"), "invalidRequest", false],
    [
      400,
      openai("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"),
      "modelNotFound",
      false,
    ],
    [400, openai("gpt-9 is not a valid model ID"), "modelNotFound", false],
    [
      400,
      openai("Your request was rejected as a result of our safety system.", "content_policy_violation"),
      "refused",
      false,
    ],
    [400, openai("The response was filtered due to the prompt triggering content management policy"), "refused", false],
    [
      400,
      anthropic("invalid_request_error", "messages: text content blocks must be non-empty"),
      "invalidRequest",
      false,
    ],
    [401, openai("Incorrect API key provided", "invalid_api_key"), "auth", false],
    [402, JSON.stringify({ error: { message: "Insufficient credits", code: 402 } }), "rateLimit", false],
    [403, openai("Input was flagged for violence"), "refused", false],
    [403, anthropic("permission_error", "Your API key does not have permission"), "auth", false],
    [404, anthropic("not_found_error", "model: claude-x"), "modelNotFound", false],
    [404, JSON.stringify({ detail: "Not Found" }), "modelNotFound", false],
    [404, "<html><h1>404 Not Found</h1></html>", "invalidRequest", false],
    [409, anthropic("conflict_error", "conflict"), "server", true],
    [422, JSON.stringify({ detail: [{ loc: ["body"], msg: "field required" }] }), "invalidRequest", false],
    [429, openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), "rateLimit", false],
    [429, openai("Rate limit reached for gpt", "rate_limit_exceeded", "requests"), "rateLimit", true],
    [
      429,
      openai(
        "Request too large for gpt on tokens per min: Limit 30000, Requested 40000",
        "rate_limit_exceeded",
        "tokens",
      ),
      "rateLimit",
      false,
    ],
    [429, anthropic("rate_limit_error", "slow down"), "rateLimit", true],
    [429, "", "rateLimit", true],
    [500, anthropic("overloaded_error", "Overloaded"), "overloaded", true],
    [500, anthropic("api_error", "Internal server error"), "server", true],
    [501, "", "server", false],
    [503, "upstream connect error", "overloaded", true],
    [520, "", "server", true],
    [524, "", "timeout", true],
    [529, anthropic("overloaded_error", "Overloaded"), "overloaded", true],
    [418, "", "invalidRequest", false],
  ])("%i %s", (status, body, kind, retryable) => {
    expect(classifyStatus(status, errorBody(body))).toEqual({ kind, retryable });
  });

  it.each([
    [
      openai(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        "context_length_exceeded",
      ),
      128_000,
    ],
    [openai("Your input exceeds the context window of this model.", "context_length_exceeded"), undefined],
    [anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), 200_000],
    [
      anthropic(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
      ),
      200_000,
    ],
    [openai("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), 1_048_576],
    [
      openai("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
      32_768,
    ],
    [openai("This model's maximum prompt length is 131,072 but the request contains 200,000 tokens."), 131_072],
    [openai("Invalid request: Your request exceeded model token limit: 262144"), 262_144],
    [openai("prompt token count of 130000 exceeds the limit of 128000", "model_max_prompt_tokens_exceeded"), 128_000],
    [openai("Range of input length should be [1, 129024]"), 129_024],
    [
      JSON.stringify({
        error: {
          code: 400,
          message: "the request exceeds the available context size. try increasing it",
          type: "exceed_context_size_error",
        },
      }),
      undefined,
    ],
    [openai("Please reduce the length of the messages or completion.", "context_length_exceeded"), undefined],
  ])("overflow: %s", (body, limitTokens) => {
    const expected = { kind: "overflow", retryable: false, ...(limitTokens !== undefined && { limitTokens }) };
    expect(classifyStatus(400, errorBody(body))).toEqual(expected);
    expect(classifyEvent(errorBody(body))).toEqual(expected);
  });

  it("413 is an overflow without a limit", () => {
    expect(classifyStatus(413, errorBody(anthropic("request_too_large", "Request exceeds the maximum size")))).toEqual({
      kind: "overflow",
      retryable: false,
    });
  });
});

describe("classifyEvent", () => {
  it.each([
    [anthropic("overloaded_error", "Overloaded"), "overloaded", true],
    [anthropic("api_error", "Internal server error"), "server", true],
    [anthropic("rate_limit_error", "slow"), "rateLimit", true],
    [anthropic("authentication_error", "bad key"), "auth", false],
    [anthropic("invalid_request_error", "bad"), "invalidRequest", false],
    [JSON.stringify({ error: { message: "Provider returned error", code: 502 } }), "server", true],
    [JSON.stringify({ error: { message: "no", code: "429" } }), "rateLimit", true],
    [JSON.stringify({ error: "Server overloaded, try later" }), "overloaded", true],
    [JSON.stringify({ error: "something" }), "server", true],
    [
      JSON.stringify({ error: { message: "Output blocked by content filtering policy: content filter" } }),
      "refused",
      false,
    ],
  ])("%s", (data, kind, retryable) => {
    expect(classifyEvent(errorBody(data))).toEqual({ kind, retryable });
  });
});

describe("errorBody", () => {
  it.each([
    [JSON.stringify([{ error: { code: 400, message: "a list", status: "INVALID_ARGUMENT" } }]), "a list"],
    [JSON.stringify({ message: "plain", code: "x" }), "plain"],
    [JSON.stringify({ object: "error", message: "vllm", type: "BadRequestError", code: 400 }), "vllm"],
    [JSON.stringify({ detail: [{ msg: "one" }, { msg: "two" }] }), "one; two"],
    [
      JSON.stringify({ error: { message: "Provider returned error", metadata: { raw: "upstream said no" } } }),
      "Provider returned error: upstream said no",
    ],
    ["just text", "just text"],
    ["null", ""],
  ])("%s", (body, message) => {
    expect(errorBody(body).message).toBe(message);
  });
});
