import type { InjectionId } from "./ids.ts";

/** Content of an interaction update that the conversation itself makes (wire section 4.7); tool updates come encoded from the ToolPort. */
export type Update =
  | { readonly kind: "text"; readonly text: string; readonly serverNotice?: boolean }
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "thinkingCompleted"; readonly durationMs: number }
  | { readonly kind: "tokens"; readonly tokens: number }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "turnEnded"; readonly usage: Usage }
  | { readonly kind: "summaryStarted" }
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "summaryCompleted" }
  /** `message`: serialized `UserMessage`. */
  | { readonly kind: "userMessageAppended"; readonly message: Uint8Array }
  | { readonly kind: "injectionState"; readonly injectionId: InjectionId; readonly state: InjectionState };

export type InjectionState =
  | { readonly kind: "queued" }
  | { readonly kind: "delivered"; readonly step: number; readonly batchId: string; readonly atMs: number }
  | { readonly kind: "queuedForNextTurn" }
  | { readonly kind: "cancelled" }
  | { readonly kind: "rejected"; readonly reason: string };

/** Token counts of a model call or a turn; an absent count is unknown, not zero. */
export interface Usage {
  /** The whole prompt: what the cache gave and what it took are in it. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}
