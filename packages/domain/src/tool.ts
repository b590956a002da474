import type { Blob } from "./blob.ts";
import type { CallResolution, ExecControl, ExecReply, QueryReply, AgentMode } from "./command.ts";
import type { McpToolOffer, RequestContext } from "./context.ts";
import type { ConversationId, ModelCallId, RunId, ToolCallId } from "./ids.ts";
import type { InterruptReason, ToolCallRecord, ToolResultRecord } from "./message.ts";
import type { ToolDefinition } from "./model.ts";

/** What decides which tools a Run offers and how their calls are carried out. Plain data; kept for the Run. */
export interface ToolScope {
  readonly conversationId: ConversationId;
  readonly runId: RunId;
  readonly mode: AgentMode;
  /** Tools of the request and of its context, in that order; a name that comes twice counts once. */
  readonly offers: readonly McpToolOffer[];
  readonly context: RequestContext | undefined;
}

/** The tools' one door for the conversation. Pure: it makes frames and decisions, the runtime sends and stores them. */
export interface ToolPort {
  /** Byte-stable for equal scopes: sorted, no dates. Native tools of the mode, then the offers. */
  catalogue(scope: ToolScope): readonly ToolDefinition[];
  /** The card of a call while its arguments stream; one per call. */
  card(scope: ToolScope, call: StreamedCall): ToolCard;
  /** A call whose assistant message is committed. A bad or unknown call settles at once as a tool error. */
  execute(scope: ToolScope, call: ToolCallRecord, modelCallId: ModelCallId): ToolExecution;
  /** The completed card of a stored result, for replay from the store. */
  completedCard(scope: ToolScope, call: ToolCallRecord, modelCallId: ModelCallId, result: ToolResultRecord): Uint8Array;
  /** A last result that the client gave for a call which it aborted itself. */
  resolve(scope: ToolScope, call: ToolCallRecord, resolution: CallResolution): ToolResultRecord | undefined;
  /** The stored form of `pending_tool_calls` names (wire section 8.4): `READ` for `Read`. */
  identifier(scope: ToolScope, toolName: string): { readonly toolIdentifier: string; readonly dynamic: boolean };
}

export interface StreamedCall {
  readonly id: ToolCallId;
  readonly name: string;
  readonly modelCallId: ModelCallId;
}

/** Frames are serialized `AgentServerMessage`s without an envelope. */
export interface ToolCard {
  /** Opens the bubble: tool case chosen, empty arguments. */
  opened(): readonly Uint8Array[];
  /** More argument text; `soFar` is all of it, `delta` what is new. */
  argumentsGrew(soFar: string, delta: string): readonly Uint8Array[];
  /** The model stream ended without this call being carried out: close the bubble as failed. */
  abandoned(reason: string): readonly Uint8Array[];
}

/** One call being carried out: a state machine that survives a change of stream. `atMs` is epoch milliseconds. */
export interface ToolExecution {
  readonly callId: ToolCallId;
  /**
   * Calls of a Step with the same value change the same thing (a file that is read and then written as a whole): in the
   * order of their index, the next one begins only when the former has settled.
   */
  readonly exclusive?: string;
  /** Once, first. A call that is restored after a restart begins anew with its old id; a call that is not carried out settles here. */
  begin(atMs: number): readonly ToolEffect[];
  /** The requests that are unanswered now, for a new stream; never `update`s. */
  reissue(): readonly ToolEffect[];
  reply(key: string, reply: ExecReply, atMs: number): readonly ToolEffect[];
  control(key: string, control: ExecControl, atMs: number): readonly ToolEffect[];
  answer(key: string, reply: QueryReply, atMs: number): readonly ToolEffect[];
  /** A `deadline` of this key passed. One that no longer matters gives nothing. */
  expire(key: string, atMs: number): readonly ToolEffect[];
  /** Closes the call without a real result; gives `settled` unless it has settled already. */
  interrupt(reason: InterruptReason, atMs: number): readonly ToolEffect[];
  /** Takes a result that came another way (a resolution, a client state); gives `settled` unless it has settled already. */
  accept(result: ToolResultRecord, atMs: number): readonly ToolEffect[];
}

/**
 * What the runtime must do, in this order.
 * - `exec` and `query`: give it a fresh id of the attached stream, remember (stream, id) → (call, key), send it. `key` is unique within the call.
 * - `abort`: tell the client to stop the exec that carries `key`, if it is in flight on the attached stream.
 * - `update`: append to the output log.
 * - `renew`: the client showed that the exec is alive; the call's deadline starts anew.
 * - `deadline`: call `expire(key)` once after `ms`, unless the call has settled by then.
 * - `settled`: store the blobs (pictures that the result refers to), commit the result, then append `completed` to the log.
 */
export type ToolEffect =
  | { readonly type: "exec"; readonly key: string; encode(execId: number): Uint8Array }
  | { readonly type: "query"; readonly key: string; encode(queryId: number): Uint8Array }
  | { readonly type: "abort"; readonly key: string }
  | { readonly type: "update"; readonly frame: Uint8Array }
  | { readonly type: "renew" }
  | { readonly type: "deadline"; readonly key: string; readonly ms: number }
  | {
      readonly type: "settled";
      readonly result: ToolResultRecord;
      readonly completed: Uint8Array;
      readonly blobs: readonly Blob[];
    };
