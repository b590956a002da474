import type { HistoryId, ModelMessage, ToolDefinition } from "@chartroom/domain";
import { spaceOf } from "./ids.ts";
import { textTokens } from "./tokens.ts";

/** A model request as far as the provider's prompt cache sees it. */
export interface CachedRequest {
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  readonly messages: readonly ModelMessage[];
  /** `Projection.sources`. */
  readonly sources: readonly HistoryId[];
  /** Requests to different models share no cache. */
  readonly model: string;
  /** `HeadView.summary`: the compaction that the messages stand on. */
  readonly summary?: HistoryId;
}

/** Why the prefix of the last call does not carry over. */
export type PrefixBreak =
  | "model-changed"
  | "system-changed"
  | "tools-changed"
  | "compaction"
  | "branch"
  | "request-context-changed"
  | "runtime-changed"
  | "user-message-changed"
  | "assistant-changed"
  | "tool-result-changed";

export interface PrefixReport {
  /** Messages in common, from the first on. */
  readonly common: number;
  /** Messages of the earlier call. */
  readonly total: number;
  /** Absent when the earlier call is a prefix of the later one. */
  readonly brokenBy?: PrefixBreak;
  /** Where it broke, when at a message. */
  readonly message?: HistoryId;
  /** Estimated tokens of the earlier call that are not read from the cache. */
  readonly tokensLost?: number;
}

/** Compares a model call with the last one of its branch. */
export function comparePrefix(before: CachedRequest, now: CachedRequest): PrefixReport {
  const total = before.messages.length;
  const head = headBreak(before, now);
  if (head !== undefined) return { common: 0, total, brokenBy: head, tokensLost: tokensFrom(before, 0) };
  let common = 0;
  while (common < total && sameMessage(before.messages[common], now.messages[common])) common += 1;
  if (common === total) return { common, total };
  const message = before.sources[common];
  return {
    common,
    total,
    brokenBy: messageBreak(before, now, common),
    ...(message === undefined ? {} : { message }),
    tokensLost: tokensFrom(before, common),
  };
}

function headBreak(before: CachedRequest, now: CachedRequest): PrefixBreak | undefined {
  if (before.model !== now.model) return "model-changed";
  if (before.system !== now.system) return "system-changed";
  return same(before.tools, now.tools) ? undefined : "tools-changed";
}

function messageBreak(before: CachedRequest, now: CachedRequest, at: number): PrefixBreak {
  if (before.summary !== now.summary) return "compaction";
  const was = before.sources[at];
  if (was === undefined || was !== now.sources[at]) return "branch";
  switch (spaceOf(was)?.space) {
    case "request-context":
      return "request-context-changed";
    case "runtime":
      return "runtime-changed";
    default:
      break;
  }
  const role = before.messages[at]?.role;
  if (role === "assistant") return "assistant-changed";
  return role === "tool" ? "tool-result-changed" : "user-message-changed";
}

function sameMessage(a: ModelMessage | undefined, b: ModelMessage | undefined): boolean {
  return a === b || same(a, b);
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function tokensFrom(request: CachedRequest, at: number): number {
  return textTokens(JSON.stringify(request.messages.slice(at)));
}
