import type { OpenAiOptions } from "../config.ts";

/** What differs between vendors of this format; one that nobody described takes these. */
export const USUAL: Required<OpenAiOptions> = {
  maxTokensField: "max_tokens",
  promptCacheKey: false,
  streamUsage: true,
  reasoningEffort: true,
  reasoningReplay: "field",
};

/** In thinking mode these refuse an assistant message with calls that brings no reasoning. As of November 2026. */
const DEMANDS_REASONING: OpenAiOptions = { reasoningReplay: "required" };

/** By the host of the address. */
export const VENDORS: ReadonlyMap<string, OpenAiOptions> = new Map([
  ["api.openai.com", { maxTokensField: "max_completion_tokens", promptCacheKey: true }],
  ["api.deepseek.com", DEMANDS_REASONING],
  ["api.kimi.com", DEMANDS_REASONING],
  ["api.moonshot.ai", DEMANDS_REASONING],
  ["api.moonshot.cn", DEMANDS_REASONING],
]);
