import type { Blob } from "./blob.ts";
import type { LifecycleEvent, PersistedChart } from "./chart.ts";
import type {
  AgentSessionId,
  BlobId,
  CheckpointId,
  ConversationId,
  EventId,
  HistoryId,
  MessageId,
  ModelCallId,
  ModelId,
  MemberId,
  NodeId,
  ParentConversationRef,
  ProviderCallId,
  RequestId,
  RunId,
  ToolCallId,
  TraceId,
  WireRunId,
} from "./ids.ts";
import type { FailureCode } from "./errors.ts";
import type { AssistantRecord, CanonicalMessage, ToolCallRecord, ToolResultRecord } from "./message.ts";
import type { Usage } from "./update.ts";

/** The right to write a conversation: every write carries it, and a write that does not hold it any more changes nothing. */
export interface Lease {
  readonly conversationId: ConversationId;
  readonly member: MemberId;
  readonly fence: number;
}

export interface Activation {
  readonly lease: Lease;
  readonly created: boolean;
  readonly chart: PersistedChart | undefined;
  readonly head: CheckpointId | undefined;
  readonly parent: ParentConversationRef | undefined;
  /** Runs that have not ended, oldest first; then, newest first, the last that ended and those that did so since the oldest of them was accepted. */
  readonly runs: readonly RunRow[];
  /** Rows not yet taken, by `seq`. */
  readonly inbox: readonly InboxRow[];
}

export type ActivationResult =
  | { readonly kind: "active"; readonly activation: Activation }
  | { readonly kind: "elsewhere"; readonly node: NodeId }
  /** Unknown, or another member's. */
  | { readonly kind: "notFound" }
  | { readonly kind: "unavailable" };

export type CommitResult =
  | {
      readonly kind: "committed";
      readonly inbox: readonly { readonly key: string; readonly seq: number; readonly duplicate: boolean }[];
    }
  /** Another owner lives: abort the ports, stop the actor, say nothing. */
  | { readonly kind: "fenced" }
  | { readonly kind: "unavailable" };

export type RunStatus = "waiting" | "running" | "completed" | "cancelled" | "failed" | "superseded";

export interface RunRow {
  readonly runId: RunId;
  readonly kind: "turn" | "summarize";
  readonly status: RunStatus;
  readonly failureCode?: FailureCode;
  readonly messageId?: MessageId;
  readonly wireRunIds: readonly WireRunId[];
  readonly agentSessionId?: AgentSessionId;
  readonly requestId: RequestId;
  readonly generation: number;
  readonly traceId: TraceId;
  readonly modelId: ModelId;
  /** Epoch ms of the park deadline while it has no transport. */
  readonly parkDeadline?: number;
  readonly acceptedAt: number;
  readonly endedAt?: number;
  /** Its terminal was written to an attached transport. */
  readonly delivered: boolean;
  /** Serialized `AgentClientMessage` that opened it. */
  readonly request: Uint8Array;
  /** What the Step in flight has shown so far, flushed at least once a second; null when it is committed as a message. */
  readonly partial?: AssistantRecord | null;
  /** Head before its opening messages, and after its last commit. */
  readonly baseHead?: CheckpointId;
  readonly finalHead?: CheckpointId;
}

/** A generation that carries a Run besides the one whose request opened it: a client came back for it. */
export interface RunClaim {
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly generation: number;
}

/** `run`: the request of a Run that waited and did not begin; what it said comes before what opens the next one. */
export type InboxKind = "userMessage" | "inject" | "completion" | "run" | "asyncAnswer";
export interface InboxRow {
  readonly seq: number;
  readonly kind: InboxKind;
  /** Idempotency key; a repeat is a no-op. */
  readonly key: string;
  /** Serialized `AgentClientMessage`. */
  readonly body: Uint8Array;
  readonly runId?: RunId;
  readonly requestId: RequestId;
  readonly generation: number;
  readonly state: "waiting" | "taken" | "dropped";
}

/** An immutable node; lists the messages that it adds to its parent. */
export interface CheckpointNode {
  readonly id: CheckpointId;
  readonly parent: CheckpointId | undefined;
  readonly runId?: RunId;
  /** Ids added by this node, in order. */
  readonly added: readonly HistoryId[];
  /** Number of messages from the root to here. */
  readonly length: number;
  /** The node begins a new prefix (compaction): messages before it are not projected. */
  readonly compaction?: { readonly summaryId: HistoryId; readonly keptFrom?: HistoryId };
  /** Serialized `ConversationStateStructure` that was made of it, once there is one. */
  readonly wireState?: Uint8Array;
  /** Published and its blobs acknowledged. */
  readonly delivered: boolean;
}

/** Where an edit, a rewind or a fork branches from. */
export interface InputAnchor {
  readonly inputId: string;
  readonly event: EventId;
  readonly base: CheckpointId | undefined;
}

export interface ToolCallRow {
  readonly callId: ToolCallId;
  readonly runId: RunId;
  readonly step: number;
  readonly modelCallId: ModelCallId;
  readonly providerId: ProviderCallId;
  readonly record: ToolCallRecord;
  readonly status: "open" | "settled";
  readonly deadline: number;
  readonly result?: ToolResultRecord;
}

/** What a later call is compared with once this one has left memory: digests and counts, no content. */
export interface CallMark {
  /** The branch head that it was made at. */
  readonly head: CheckpointId;
  readonly system: string;
  readonly tools: string;
  /** How many messages it had, and the digest of them all. */
  readonly messages: number;
  readonly digest: string;
  /** The compaction that it stood on. */
  readonly summary?: HistoryId;
}

export interface ModelCallRow {
  readonly modelCallId: ModelCallId;
  readonly runId: RunId;
  readonly step: number;
  readonly modelId: ModelId;
  /** Absent for a Step of the turn. */
  readonly purpose?: "summary";
  readonly usage: Usage;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: "completed" | "toolCalls" | "failed" | "aborted";
  readonly failureCode?: FailureCode;
  /** Messages in common with the last call of the branch, and what broke the prefix, if it did. */
  readonly prefix?: {
    readonly common: number;
    readonly total: number;
    readonly brokenBy?: string;
    /** Where it broke, when at a message. */
    readonly message?: HistoryId;
    readonly tokensLost?: number;
  };
  readonly mark?: CallMark;
}

/** All writes of a barrier; one fenced transaction. What is absent does not change. Idempotent by (runId, step) and by keys. */
export interface Barrier {
  readonly chart?: PersistedChart;
  readonly head?: CheckpointId;
  readonly messages?: readonly CanonicalMessage[];
  readonly checkpoints?: readonly CheckpointNode[];
  readonly checkpointDelivered?: readonly CheckpointId[];
  readonly anchors?: readonly InputAnchor[];
  readonly runsOpened?: readonly RunRow[];
  /** A status never goes backwards, and an outcome stays: a change that would is ignored as a whole. A `parkDeadline` of 0 takes it away. */
  readonly runsChanged?: readonly (Partial<Omit<RunRow, "runId" | "request">> & { readonly runId: RunId })[];
  /** The first Run of a generation stands. */
  readonly runsClaimed?: readonly RunClaim[];
  readonly callsOpened?: readonly ToolCallRow[];
  /** First result wins: a second one is ignored. */
  readonly callsSettled?: readonly { readonly callId: ToolCallId; readonly result: ToolResultRecord }[];
  readonly callDeadlines?: readonly { readonly callId: ToolCallId; readonly deadline: number }[];
  readonly inboxPut?: readonly Omit<InboxRow, "seq" | "state">[];
  readonly inboxTaken?: readonly number[];
  readonly inboxDropped?: readonly number[];
  readonly blobs?: readonly Blob[];
  readonly modelCalls?: readonly ModelCallRow[];
  readonly trace?: {
    readonly traceId: TraceId;
    readonly runId: RunId;
    readonly attributes: Readonly<Record<string, string | number | boolean>>;
  };
  readonly journal?: readonly LifecycleEvent[];
  /**
   * Nothing is answered on its strength: it need not be on disk when `commit` says so. The next barrier without this makes
   * it durable too; until then a crash of the database's machine may lose it, as if it had not been written yet.
   */
  readonly unawaited?: true;
}

/** The truth. Every method is bounded in time; `unavailable` means that the database could not be reached within the bound. */
export interface ConversationStore {
  /** One statement: takes ownership if it is free, ours or expired, raises the fence, returns the state. `create` makes it when it is unknown. */
  activate(
    conversationId: ConversationId,
    member: MemberId,
    options: { readonly create: boolean; readonly parent?: ParentConversationRef },
  ): Promise<ActivationResult>;
  /** Gives ownership up (passivation); nothing if fenced. */
  release(lease: Lease): Promise<void>;
  commit(lease: Lease, barrier: Barrier): Promise<CommitResult>;
  /** Messages of the chain that ends in `head`, root first. With `after`, only those behind that node. */
  messages(lease: Lease, head: CheckpointId, after?: CheckpointId): Promise<readonly CanonicalMessage[]>;
  /** All nodes, in the order in which they were committed, without their `wireState`: each is as long as the conversation. */
  checkpoints(lease: Lease): Promise<readonly CheckpointNode[]>;
  /** One node, whole. */
  checkpoint(lease: Lease, id: CheckpointId): Promise<CheckpointNode | undefined>;
  anchors(lease: Lease): Promise<readonly InputAnchor[]>;
  toolCalls(lease: Lease, runId: RunId): Promise<readonly ToolCallRow[]>;
  /** The newest model calls that have a mark, newest first. */
  markedCalls(lease: Lease, limit: number): Promise<readonly ModelCallRow[]>;
  /** By a generation: the Run that it opened or claimed, the newest if there are several. */
  run(
    lease: Lease,
    by:
      | { readonly runId: RunId }
      | { readonly messageId: MessageId }
      | { readonly requestId: RequestId; readonly generation: number },
  ): Promise<RunRow | undefined>;
  /** Of the member's blobs, those that exist. */
  blobs(member: MemberId, ids: readonly BlobId[]): Promise<ReadonlyMap<BlobId, Uint8Array>>;
  hasBlobs(member: MemberId, ids: readonly BlobId[]): Promise<ReadonlySet<BlobId>>;
  /** Binds a request id for ever; another conversation: `conflict`. */
  bind(
    member: MemberId,
    requestId: RequestId,
    conversationId: ConversationId,
  ): Promise<
    | { readonly kind: "bound"; readonly generation: number }
    | { readonly kind: "conflict" }
    | { readonly kind: "unavailable" }
  >;
  /** Next generation of a bound request id. */
  nextGeneration(member: MemberId, requestId: RequestId): Promise<number>;
  binding(
    member: MemberId,
    requestId: RequestId,
  ): Promise<{ readonly conversationId: ConversationId; readonly generation: number } | undefined>;
  /** Finds the parent Run of a child: the `tool_call` row of the conversation that is bound to the request id. */
  parentOf(member: MemberId, requestId: RequestId, callId: ToolCallId): Promise<ParentConversationRef | undefined>;
  /** Conversations without a living owner whose stored deadline has passed. */
  overdue(
    nowMs: number,
    limit: number,
  ): Promise<readonly { readonly conversationId: ConversationId; readonly member: MemberId }[]>;
  /** For `show`, `replay` and `doctor`: reads without ownership. */
  inspect(conversationId: ConversationId): Promise<ConversationView | undefined>;
}

export interface ConversationView {
  readonly conversationId: ConversationId;
  readonly member: MemberId;
  readonly chart: PersistedChart | undefined;
  readonly head: CheckpointId | undefined;
  readonly owner: NodeId | undefined;
  readonly fence: number;
  readonly parent: ParentConversationRef | undefined;
  readonly runs: readonly RunRow[];
  /** In the order in which they were written. */
  readonly modelCalls: readonly ModelCallRow[];
  readonly traces: readonly NonNullable<Barrier["trace"]>[];
  readonly journal: readonly LifecycleEvent[];
  readonly messages: number;
}

/** This process's place among the nodes: renewed every 2 s, valid 6 s by the database's clock. */
export interface NodeLease {
  readonly node: NodeId;
  start(): Promise<void>;
  /** Called when the lease could not be renewed in time: the node must stop speaking for its conversations. */
  onLost(listener: () => void): void;
  /** `false` as soon as the lease may have ended, by this process's own clock: a process that was frozen asks before it speaks. */
  held(): boolean;
  stop(): Promise<void>;
}
