import type {
  AssistantRecord,
  BlobId,
  CheckpointId,
  HistoryId,
  MessageId,
  ModelCallId,
  ModelCallRow,
  ModelInfo,
  ModelProvider,
  RequestContext,
  RunId,
  RunRequest,
  RunRow,
  ToolCallRow,
  ToolCard,
  ToolDefinition,
  ToolScope,
  Usage,
} from "@chartroom/domain";
import type { Survivors } from "@chartroom/prompting";
import type { ClientStream } from "../streams/client-stream.ts";
import { deferred, type Deferred } from "../deferred.ts";
import type { ToolBoard } from "../steps/tool-board.ts";

/** What a Run compiled once, in `preparing`, and uses in each Step. */
export interface CompiledRun {
  readonly scope: ToolScope;
  readonly model: ModelInfo;
  readonly provider: ModelProvider;
  readonly system: string;
  /** Texts of the client that stand in the system text. */
  readonly custom: readonly string[];
  readonly tools: readonly ToolDefinition[];
}

/** The model pass that has ended, or was stopped, and is not yet a committed message. */
export interface PendingStep {
  readonly record: AssistantRecord;
  readonly modelCallId: ModelCallId;
  /** It is history already, and its calls are open: those of a state that another server wrote. */
  readonly stands?: boolean;
}

/** A committed message of a Run as updates, for a client that has not seen it. */
export interface EarlierFrames {
  readonly id: HistoryId;
  readonly frames: readonly Uint8Array[];
}

/** A Run in memory: its row, its streams, and what its Step in flight holds. */
export class LiveRun {
  row: RunRow;
  readonly request: RunRequest;
  /** Another Run went on in its place on its stream; the output log leads there, and a later stream of it must not. */
  continued = false;
  /** The newest checkpoint that is in the output log. */
  logged: CheckpointId | undefined;
  /** Number of the inbox row that opened it, until that is history. */
  opener: number | undefined;
  /** Its opening is history. */
  opened = false;
  /** The ended Run whose branch this one goes on. */
  continues: RunId | undefined;
  /** The same input was answered before and delivered: the user wants it anew. */
  again = false;
  /** How many of `Activation.deliveries` its client knew when its command came; it spoke without the later ones. */
  heard = 0;
  /** A context from elsewhere than its own request: a claim's, or that of the Run before on the same stream. */
  knownContext: RequestContext | undefined;
  /** Resolves when the Run's outcome is in the store, or never will be. */
  readonly stopped: Deferred<boolean> = deferred<boolean>();
  /** Resolves when the Run is durable (`true`), or will never be. */
  readonly accepted: Deferred<boolean> = deferred<boolean>();
  attached: ClientStream | undefined;
  /** All who wait for a transport of this Run. */
  readonly arrivals = new Set<() => void>();
  /** It came back from the store: what it showed before is not in the output log. */
  restored = false;
  /** Updates that stand for what was shown before the restart. */
  earlier: readonly EarlierFrames[] = [];
  /** What the model pass in flight has shown so far. */
  shown: (() => AssistantRecord) | undefined;
  /** What a compaction wrote, until it is committed. */
  summary = "";
  /** What outlives it word for word. */
  survivors: Survivors = {};
  compiled: CompiledRun | undefined;
  pending: PendingStep | undefined;
  /** Model calls that are not in the store yet, failed attempts too. */
  readonly modelCalls: ModelCallRow[] = [];
  /** What the trace says next: ids, enums and counts. */
  trace: Record<string, string | number> = {};
  /** Problems of the history that were told. */
  healed = 0;
  /** Cards whose call is not committed; closed as failed when the Step is stopped. */
  readonly cards = new Map<string, ToolCard>();
  board: ToolBoard | undefined;
  /** The calls of this Run, for cards that are rebuilt. */
  readonly calls: ToolCallRow[] = [];
  /** The preparation or provider call in flight; settles after it has left what it leaves. */
  work: Promise<void> | undefined;
  /** Safe text behind a failed outcome. */
  failureDetail: string | undefined;
  /** Texts that came as blob ids, by message id. */
  readonly texts = new Map<MessageId, string>();
  /** Pictures that came with messages and are not stored yet. */
  readonly pictures = new Map<BlobId, Uint8Array>();
  /** Pictures that nobody has. */
  readonly absent = new Set<BlobId>();
  /** Serialized `UserMessage`s of this Run, by the id of their canonical message. */
  readonly userMessages = new Map<HistoryId, Uint8Array>();
  /** Epoch ms at which the calls of the Step were committed. */
  stepStartedAt = 0;
  usage: Usage = {};

  ended = false;
  /** Gives the capacity slot back. */
  release: () => void = () => undefined;

  constructor(row: RunRow, request: RunRequest) {
    this.row = row;
    this.request = request;
  }

  /** The pass has ended, or was stopped: its record waits for a commit, and so does the row of every attempt. */
  pend(record: AssistantRecord, call: ModelCallRow): void {
    this.pending = { record, modelCallId: call.modelCallId };
    this.modelCalls.push(call);
  }

  /** Adds the usage of one model call; an unknown count stays unknown. */
  addUsage(usage: Usage): void {
    const sum: Record<string, number> = { ...(this.usage as Record<string, number>) };
    for (const [name, value] of Object.entries(usage) as [string, number | undefined][])
      if (value !== undefined) sum[name] = (sum[name] ?? 0) + value;
    this.usage = sum;
  }
}
