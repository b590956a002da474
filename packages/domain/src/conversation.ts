import type { CommandEnvelope, ExecControl, ExecReply, KvReply, QueryReply } from "./command.ts";
import type { Terminal } from "./cluster.ts";
import type { Failure } from "./errors.ts";
import type { ConversationId, Generation, RunId, StreamId } from "./ids.ts";
import type { Principal } from "./principal.ts";

/** The downlink of one generation: made by the gateway, written by the conversation once it is attached. */
export interface Downlink {
  readonly streamId: StreamId;
  /** Takes a serialized `AgentServerMessage`; `false`: full, wait for `onDrain`. A closed downlink takes and drops. */
  write(message: Uint8Array): boolean;
  /** Writes the terminal in the transport's own way and closes. Only the first call counts. */
  end(terminal: Terminal): void;
  /** Cuts the connection without a word: another node speaks for this conversation now. */
  drop(): void;
  readonly closed: boolean;
  onDrain(listener: () => void): void;
  /** The transport went away before its terminal. */
  onLost(listener: () => void): void;
}

/** The answer to a command, given only after the write that it depends on is committed. */
export type Receipt =
  /** The generation carries this Run: attach its downlink. */
  | { readonly kind: "run"; readonly conversationId: ConversationId; readonly runId: RunId }
  /** Answered with an empty finished turn: `turn_ended`, then the terminal. */
  | { readonly kind: "finishedTurn"; readonly conversationId: ConversationId }
  | { readonly kind: "acknowledged"; readonly conversationId: ConversationId | undefined }
  /** Late or unmatched: logged, answered 200. */
  | { readonly kind: "dropped"; readonly reason: string }
  /** On carrier A the stream ends with this failure; on an append the call fails only for a conflict of identity. */
  | { readonly kind: "refused"; readonly failure: Failure };

export type AttachReceipt =
  | { readonly kind: "attached"; readonly conversationId: ConversationId; readonly runId: RunId }
  /** No Run of that generation is known yet: the downlink is kept and attached as soon as one is, without another call. Until then the gateway owns it (headers, heartbeats, a bound of 60 s). */
  | { readonly kind: "waiting" }
  | { readonly kind: "refused"; readonly failure: Failure };

/** The conversations' one door for the gateway. */
export interface Conversations {
  submit(envelope: CommandEnvelope): Promise<Receipt>;
  /**
   * Attaches a downlink to the Run of a generation: a claim when another one is attached or the Run is parked.
   * An ended Run's output is replayed from the log, or answered from the store.
   */
  attach(principal: Principal, generation: Generation, downlink: Downlink): Promise<AttachReceipt>;
  exec(generation: Generation, reply: ExecReply): Promise<Receipt>;
  control(generation: Generation, control: ExecControl): Promise<Receipt>;
  kv(generation: Generation, reply: KvReply): Promise<Receipt>;
  query(generation: Generation, reply: QueryReply): Promise<Receipt>;
  /** What binds a request id: the number of its newest generation and its conversation; `undefined`: never seen. */
  binding(principal: Principal, requestId: Generation["requestId"]): Promise<Binding | undefined>;
}

export interface Binding {
  readonly conversationId: ConversationId;
  readonly generation: number;
  /** The newest generation still carries a Run that has not ended. */
  readonly live: boolean;
}
