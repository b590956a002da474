import type { Failure } from "./errors.ts";
import type { CheckpointId, ConversationId, NodeId, RunId, StreamId } from "./ids.ts";

/** How a Run's stream ends; each transport encodes it in its own way. */
export type Terminal = { readonly kind: "completed" } | { readonly kind: "error"; readonly failure: Failure };

export type OutputKind = "update" | "checkpoint" | "exec" | "kv" | "query" | "control" | "turnEnded";

/** One message of the output log: encoded once for all readers, opaque to the conversation. */
export interface OutputEntry {
  /** Rises by one per entry of the conversation, for ever. */
  readonly offset: number;
  readonly runId: RunId;
  readonly kind: OutputKind;
  /** Serialized `AgentServerMessage`, without an envelope. */
  readonly bytes: Uint8Array;
  /** Set on `checkpoint` entries. */
  readonly checkpoint?: CheckpointId;
  /** Exec, KV, query and control messages belong to one stream: no other reader gets them, and they are never replayed. */
  readonly streamId?: StreamId;
}

export interface OutputAppend {
  readonly conversationId: ConversationId;
  readonly runId: RunId;
  readonly fence: number;
  readonly kind: OutputKind;
  readonly bytes: Uint8Array;
  readonly checkpoint?: CheckpointId;
  readonly streamId?: StreamId;
}

/** The receiving end of a transport. */
export interface OutputReader {
  readonly streamId: StreamId;
  /** Takes an entry; `false` means: full, hold back until `resume` of the subscription is called. */
  entry(entry: OutputEntry): boolean;
  /** The last word; nothing comes after it. */
  terminal(terminal: Terminal): void;
  /** The reader lagged behind the ring: it loses its transport, never the Run. */
  lagged(): void;
}

export interface OutputSubscription {
  resume(): void;
  close(): void;
}

export type ReplayFrom =
  | { readonly kind: "runStart" }
  /** The entries after this checkpoint entry. */
  | { readonly kind: "checkpoint"; readonly checkpoint: CheckpointId }
  | { readonly kind: "offset"; readonly offset: number }
  | { readonly kind: "live" };

/** A ring per conversation (4,096 entries or 16 MiB). Only the conversation's runtime opens, appends and closes. */
export interface OutputLog {
  open(conversationId: ConversationId, runId: RunId, fence: number): void;
  /** The entry's offset; `undefined` when it is not of the current Run and fence, and was dropped. */
  append(entry: OutputAppend): number | undefined;
  /**
   * Stores the terminal of the Run; a second one is ignored and `false`. With `continuedBy`, its readers go on with that
   * Run, already open, instead of getting the terminal: a follow-up on the same stream.
   */
  close(conversationId: ConversationId, runId: RunId, terminal: Terminal, atMs: number, continuedBy?: RunId): boolean;
  /** `gone`: the ring no longer holds that place; the caller rebuilds it from the store and subscribes `live`. */
  subscribe(
    conversationId: ConversationId,
    runId: RunId,
    from: ReplayFrom,
    reader: OutputReader,
  ): OutputSubscription | "gone" | "unknown";
  /** Forgets ended Runs older than the retention, and the ring when no Run is left. */
  prune(nowMs: number, retentionMs: number): void;
  drop(conversationId: ConversationId): void;
}

/** Where a conversation lives. */
export interface Directory {
  readonly self: NodeId;
  /** `elsewhere`: another node owns it and its lease has not expired. */
  locate(
    conversationId: ConversationId,
  ): Promise<
    { readonly kind: "here" } | { readonly kind: "elsewhere"; readonly node: NodeId } | { readonly kind: "unowned" }
  >;
}

/** Carries commands to the node that owns a conversation. The local bus has no other node. */
export interface CommandBus {
  forward(
    node: NodeId,
    conversationId: ConversationId,
    command: Uint8Array,
  ): Promise<{ readonly kind: "delivered"; readonly answer: Uint8Array } | { readonly kind: "unavailable" }>;
  handle(handler: (conversationId: ConversationId, command: Uint8Array) => Promise<Uint8Array>): () => void;
}
