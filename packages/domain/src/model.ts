import type { JsonObject } from "./context.ts";
import type { ModelId, ProviderCallId } from "./ids.ts";
import type { Usage } from "./update.ts";

/** A model of the catalogue, as configured. */
export interface ModelInfo {
  readonly id: ModelId;
  readonly displayName: string;
  readonly provider: string;
  /** The vendor's own name of the model. */
  readonly upstreamModel: string;
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly supportsImages: boolean;
  readonly supportsThinking: boolean;
  readonly aliases: readonly string[];
}

/** The neutral request that an adapter translates; all of it is stored or compiled from what is stored. */
export interface ModelRequest {
  readonly model: ModelInfo;
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  readonly messages: readonly ModelMessage[];
  readonly maxOutputTokens: number;
  /** Reasoning effort, when the client asks for one. */
  readonly effort?: "minimal" | "low" | "medium" | "high";
  /** Stable per conversation: the provider's prompt cache key. */
  readonly cacheKey: string;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export type ModelMessage =
  | { readonly role: "user"; readonly parts: readonly ModelPart[] }
  | { readonly role: "assistant"; readonly blocks: readonly ModelBlock[]; readonly calls: readonly ModelToolCall[] }
  | { readonly role: "tool"; readonly results: readonly ModelToolResult[] };

export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly mimeType: string; readonly base64: string };
export type ModelBlock =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "thinking";
      readonly text: string;
      readonly replay?: { readonly vendor: string; readonly data: string };
    };
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, always valid. */
  readonly arguments: string;
}
export interface ModelToolResult {
  readonly callId: string;
  readonly toolName: string;
  readonly text: string;
  readonly isError: boolean;
  readonly image?: { readonly mimeType: string; readonly base64: string };
}

/** What a stream yields; the last one is `finished` or `failed`, exactly once. */
export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "thinkingDone"; readonly replay?: { readonly vendor: string; readonly data: string } }
  | { readonly type: "call"; readonly index: number; readonly providerId: ProviderCallId; readonly name: string }
  | { readonly type: "callArguments"; readonly index: number; readonly text: string }
  | { readonly type: "callDone"; readonly index: number }
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "finished"; readonly reason: FinishReason; readonly raw: string }
  | { readonly type: "failed"; readonly failure: ProviderFailure };

export type FinishReason = "stop" | "toolCalls" | "length" | "refusal" | "contentFilter";

export type ProviderFailureKind =
  | "auth"
  | "rateLimit"
  | "overloaded"
  | "overflow"
  | "invalidRequest"
  | "modelNotFound"
  | "refused"
  | "timeout"
  | "transport"
  | "server"
  | "interrupted"
  | "aborted";

export interface ProviderFailure {
  readonly kind: ProviderFailureKind;
  /** HTTP status, when there was one. */
  readonly status?: number;
  /** The provider's own message with key and URL taken out; at most 500 characters. */
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** The window that an overflow error named, in tokens. */
  readonly limitTokens?: number;
}

export interface ModelLimits {
  /** No byte for so long: `timeout`. Pings count. */
  readonly idleMs: number;
  /** No response headers for so long: `timeout`. */
  readonly headersMs: number;
  readonly totalMs: number;
}

/**
 * A provider. `stream` never throws and never rejects: what goes wrong is the last event, `failed`.
 * Each array holds what one read of the network brought, so that a reader can join deltas before it encodes them.
 * A stream is `finished` only after the vendor's own terminal event. It does not retry.
 */
export interface ModelProvider {
  /** Unique among the providers; marks the replay state that this one makes (`ReplayState.vendor`), which goes back to it alone. */
  readonly id: string;
  /** It refuses an assistant message without reasoning: where there is none, its request carries an empty one. */
  readonly requiresThinking?: boolean;
  stream(request: ModelRequest, limits: ModelLimits, signal: AbortSignal): AsyncIterable<readonly ModelEvent[]>;
}

/** Finds the model and its provider for what a client asked (id, alias, `default`). */
export interface ModelDirectory {
  resolve(asked: string): { readonly model: ModelInfo; readonly provider: ModelProvider } | undefined;
  list(): readonly ModelInfo[];
  readonly defaultModel: ModelInfo;
}
