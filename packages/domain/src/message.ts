import type { BlobId, EventId, HistoryId, ModelCallId, ProviderCallId, RunId, ToolCallId } from "./ids.ts";

/** Canonical history: the truth, provider-neutral, append-only (history spec). */
export interface CanonicalMessage {
  readonly id: HistoryId;
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly origin: MessageOrigin;
  readonly content: MessageContent;
  /** The event that made it, where the server made it for a turn. */
  readonly event?: EventId;
  /** The Run in which it was committed; absent for imported messages. */
  readonly runId?: RunId;
}

export type MessageOrigin = "user" | "prompt" | "runtime" | "assistant" | "tool";

export type MessageContent =
  | { readonly kind: "parts"; readonly parts: readonly ContentPart[] }
  | { readonly kind: "assistant"; readonly record: AssistantRecord }
  | { readonly kind: "toolResult"; readonly result: ToolResultRecord };

export type ContentPart = TextPart | ImagePart;
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}
/** A picture by content address; its bytes are in the blob store. */
export interface ImagePart {
  readonly type: "image";
  readonly blob: BlobId;
  readonly mimeType: string;
  readonly name?: string;
}

/** What one model pass gave. */
export interface AssistantRecord {
  /** Text and thinking in the order in which they came. */
  readonly blocks: readonly AssistantBlock[];
  /** By index, ascending. */
  readonly calls: readonly ToolCallRecord[];
  readonly modelCallId: ModelCallId;
  /** Number of the Step in its Run, from 1. */
  readonly step: number;
  /** The pass did not end by itself (interrupt, crash, provider failure): what was shown is kept. */
  readonly partial: boolean;
}

export type AssistantBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string; readonly replay?: ReplayState };

/** Opaque state that goes back only to the vendor that made it (a signature, encrypted reasoning …), byte for byte. */
export interface ReplayState {
  readonly vendor: string;
  /** JSON text as the vendor's adapter made it. */
  readonly data: string;
}

export interface ToolCallRecord {
  readonly id: ToolCallId;
  readonly providerId: ProviderCallId;
  readonly index: number;
  readonly name: string;
  /** The exact argument text of the model; valid JSON unless `argumentError` says otherwise. */
  readonly arguments: string;
  readonly argumentError?: string;
}

export interface ToolResultRecord {
  readonly callId: ToolCallId;
  readonly toolName: string;
  readonly text: string;
  readonly isError: boolean;
  readonly image?: ImagePart;
  /** Set when the call was closed without a real result. */
  readonly interrupted?: InterruptReason;
  /** The wire's own result message (serialized `ToolCall` with args and result), for display and replay. */
  readonly display?: Uint8Array;
}

export type InterruptReason = "user-message" | "cancelled" | "superseded" | "parked-expired" | "deadline" | "failed";
