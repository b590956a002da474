import type { CallMark, CheckpointId, HistoryId, ModelMessage, ToolDefinition } from "@chartroom/domain";
import { type Chain, isOn, pathTo } from "./chain.ts";
import { digestOf } from "./digest.ts";
import { spaceOf } from "./ids.ts";
import { knownShared } from "./lines.ts";
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
  /** The same rows gave other messages than before the restart: another version of this software. */
  | "projection-changed"
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
  let common = Math.min(total, knownShared(before.messages, now.messages));
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

/** A call that has left memory, as far as its row tells. */
export interface MarkedCall {
  readonly mark: CallMark;
  readonly model: string;
  /** What the provider counted for its prompt, if it did. */
  readonly tokens?: number | undefined;
}

/**
 * The mark of a call. `before`: a call that this one begins with, whose digest is gone on from, so that a call costs what is
 * new in it.
 */
export function markOf(request: CachedRequest, head: CheckpointId, before?: CallMark): CallMark {
  const from = before?.messages ?? 0;
  return {
    head,
    system: digestOf(request.system, DIGITS),
    tools: digestOf(JSON.stringify(request.tools), DIGITS),
    messages: request.messages.length,
    digest: foldDigest(before?.digest ?? "", request.messages, from, request.messages.length),
    ...(request.summary === undefined ? {} : { summary: request.summary }),
  };
}

/** Compares a model call with one that only its mark is left of. */
export function compareMark(before: MarkedCall, now: CachedRequest, chain: Chain, head: CheckpointId): PrefixReport {
  const { mark, model } = before;
  const total = mark.messages;
  const broken = (brokenBy: PrefixBreak, common: number): PrefixReport => {
    const all = before.tokens ?? tokensOf(now.messages.slice(0, total));
    return { common, total, brokenBy, tokensLost: Math.max(0, all - tokensOf(now.messages.slice(0, common))) };
  };
  if (model !== now.model) return broken("model-changed", 0);
  if (mark.system !== digestOf(now.system, DIGITS)) return broken("system-changed", 0);
  if (mark.tools !== digestOf(JSON.stringify(now.tools), DIGITS)) return broken("tools-changed", 0);
  if (mark.summary !== now.summary) return broken("compaction", 0);
  if (total <= now.messages.length && mark.digest === foldDigest("", now.messages, 0, total))
    return { common: total, total };
  // with the digest of the whole alone it cannot be told at which message
  if (isOn(chain, head, mark.head)) return broken("projection-changed", 0);
  const theirs = new Set<string>(pathTo(chain, mark.head).flatMap(({ added }) => added));
  const common = now.sources.findIndex((source) => !theirs.has(source));
  return broken("branch", common < 0 ? Math.min(total, now.messages.length) : common);
}

const DIGITS = 32;

function foldDigest(from: string, messages: readonly ModelMessage[], start: number, end: number): string {
  let digest = from;
  for (let at = start; at < end; at += 1) digest = digestOf(`${digest}\n${JSON.stringify(messages[at])}`, DIGITS);
  return digest;
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
  return tokensOf(request.messages.slice(at));
}

function tokensOf(messages: readonly ModelMessage[]): number {
  return textTokens(JSON.stringify(messages));
}
