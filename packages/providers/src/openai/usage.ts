import type { Usage } from "@chartroom/domain";
import { isObject } from "../http/error-body.ts";

/**
 * Counts of a usage chunk. The vendor's prompt tokens include those read from the cache. A count that it does not give stays
 * unknown (case PR-19).
 */
export function openAiUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = isObject(value["prompt_tokens_details"]) ? value["prompt_tokens_details"] : {};
  const completion = isObject(value["completion_tokens_details"]) ? value["completion_tokens_details"] : {};
  const inputTokens = count(value["prompt_tokens"]);
  const outputTokens = count(value["completion_tokens"]);
  const cacheReadTokens =
    count(prompt["cached_tokens"]) ?? count(value["prompt_cache_hit_tokens"]) ?? count(value["cached_tokens"]);
  const reasoningTokens = count(completion["reasoning_tokens"]);
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
