/** Every identity of the service is a branded string: made only by a parser at the edge (`@chartroom/protocol`) or by an entropy port, never by a cast elsewhere, and there is no fall-back from one to another (lifecycle spec, section 2). */

declare const brand: unique symbol;
export type Brand<T, B extends string> = T & { readonly [brand]: B };

/** A chat. The only identity of a conversation; made by the client. */
export type ConversationId = Brand<string, "ConversationId">;
/** One execution of the agent loop; made by the server, UUIDv7, unique everywhere. */
export type RunId = Brand<string, "RunId">;
/** The client's own name of a Run (`AgentRunRequest.run_id`); compared with `expected_run_id` and with nothing else. */
export type WireRunId = Brand<string, "WireRunId">;
export type AgentSessionId = Brand<string, "AgentSessionId">;
/** A transport correlation (`x-request-id`) that may repeat. */
export type RequestId = Brand<string, "RequestId">;
/** A user message's idempotency key. */
export type MessageId = Brand<string, "MessageId">;
/** An injection's idempotency key. */
export type InjectionId = Brand<string, "InjectionId">;
/** The durable, internal id of a tool call; unique in its conversation. The provider's own id is mapped to it. */
export type ToolCallId = Brand<string, "ToolCallId">;
/** What the provider called a tool call (`call_0` in every step, say). */
export type ProviderCallId = Brand<string, "ProviderCallId">;
/** One model pass; groups the calls that it asked for. */
export type ModelCallId = Brand<string, "ModelCallId">;
export type MemberId = Brand<string, "MemberId">;
export type TeamId = Brand<string, "TeamId">;
export type NodeId = Brand<string, "NodeId">;
/** The key of a trace; one per Run. */
export type TraceId = Brand<string, "TraceId">;
/** Lower-case hex of the SHA-256 of the content. */
export type BlobId = Brand<string, "BlobId">;
/** A node of the checkpoint chain. */
export type CheckpointId = Brand<string, "CheckpointId">;
/** Deterministic id of a canonical message, in a name space of its origin (`user-message:<event>` …). */
export type HistoryId = Brand<string, "HistoryId">;
/** Made of the input id and a digest of the user's text, attachments and mode. */
export type EventId = Brand<string, "EventId">;
/** One use of a request id: `<requestId>#<generation>`; names a transport in logs, exec correlation and replay. */
export type StreamId = Brand<string, "StreamId">;
/** Id of a model as the client asks for it. */
export type ModelId = Brand<string, "ModelId">;

/** One use of a request id by one member; `generation` counts its uses from 1. */
export interface Generation {
  readonly member: MemberId;
  readonly requestId: RequestId;
  readonly generation: number;
  readonly streamId: StreamId;
}

/** Immutable origin of a child conversation: all three or none. */
export interface ParentConversationRef {
  readonly parentConversationId: ConversationId;
  readonly parentRunId: RunId;
  readonly parentToolCallId: ToolCallId;
}
