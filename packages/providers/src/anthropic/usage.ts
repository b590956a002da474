import type { Usage } from "@chartroom/domain";
import { isObject } from "../http/error-body.ts";

/** Counts as the vendor gives them; they come in two pieces, the later one over the earlier. */
export interface RawUsage {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly thinking?: number;
}

export function readUsage(value: unknown, before: RawUsage): RawUsage {
  if (!isObject(value)) return before;
  const details = isObject(value["output_tokens_details"]) ? value["output_tokens_details"] : {};
  const input = count(value["input_tokens"]);
  const output = count(value["output_tokens"]);
  const cacheRead = count(value["cache_read_input_tokens"]);
  const cacheWrite = count(value["cache_creation_input_tokens"]);
  const thinking = count(details["thinking_tokens"]);
  return {
    ...before,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(thinking !== undefined && { thinking }),
  };
}

/** In the neutral counts input includes what the cache gave and took; the vendor counts it apart. */
export function toUsage({ input, output, cacheRead, cacheWrite, thinking }: RawUsage): Usage {
  return {
    ...(input !== undefined && { inputTokens: input + (cacheRead ?? 0) + (cacheWrite ?? 0) }),
    ...(output !== undefined && { outputTokens: output }),
    ...(cacheRead !== undefined && { cacheReadTokens: cacheRead }),
    ...(cacheWrite !== undefined && { cacheWriteTokens: cacheWrite }),
    ...(thinking !== undefined && { reasoningTokens: thinking }),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
