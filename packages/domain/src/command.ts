import type { BlobContent, McpToolOffer, RequestContext } from "./context.ts";
import type {
  AgentSessionId,
  BlobId,
  ConversationId,
  Generation,
  InjectionId,
  MessageId,
  ModelId,
  RequestId,
  ToolCallId,
  WireRunId,
} from "./ids.ts";
import type { Principal } from "./principal.ts";

/** A = `run_request` on a new stream; B = `conversation_action` on a live stream. */
export type Carrier = "A" | "B";

/** One decoded client message (wire section 4.1). `raw` is the serialized `AgentClientMessage`, kept for the inbox. */
export type UplinkMessage =
  | { readonly kind: "run"; readonly request: RunRequest; readonly raw: Uint8Array }
  | { readonly kind: "prewarm"; readonly request: RunRequest; readonly raw: Uint8Array }
  | { readonly kind: "action"; readonly action: Action; readonly raw: Uint8Array }
  | { readonly kind: "exec"; readonly reply: ExecReply }
  | { readonly kind: "execControl"; readonly control: ExecControl }
  | { readonly kind: "kv"; readonly reply: KvReply }
  | { readonly kind: "query"; readonly reply: QueryReply }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "unknown" };

export interface RunRequest {
  readonly conversationId?: ConversationId;
  readonly wireRunId?: WireRunId;
  readonly agentSessionId?: AgentSessionId;
  /** Serialized `ConversationStateStructure` that the client holds; empty for a new chat. */
  readonly state: Uint8Array;
  readonly action: Action;
  readonly model: ModelChoice;
  readonly mcpTools: readonly McpToolOffer[];
  readonly customSystemPrompt?: string;
  readonly subagentTypeName?: string;
  readonly conversationGroupId?: ConversationId;
  /** Verified: the id is the hash of the data. */
  readonly prefetched: readonly BlobContent[];
}

export interface ModelChoice {
  readonly modelId: ModelId;
  readonly maxMode: boolean;
  /** `thinking`, `reasoning_effort` … (wire section 13). */
  readonly parameters: Readonly<Record<string, string>>;
}

export type AgentMode = "agent" | "ask" | "plan" | "debug" | "triage" | "project" | "multitask" | "custom";

export interface UserMessage {
  readonly messageId: MessageId;
  readonly text: string;
  /** Long text that lives in the client's blob store instead of `text`. */
  readonly textBlob?: BlobId;
  readonly mode: AgentMode;
  readonly simulated: boolean;
  readonly attachments: readonly Attachment[];
  /** Serialized `UserMessage`, byte for byte, for the checkpoint's turns and `user_message_appended`. */
  readonly wire: Uint8Array;
}

export type Attachment =
  | {
      readonly type: "image";
      readonly blob: BlobId;
      readonly data?: Uint8Array;
      readonly mimeType: string;
      readonly name?: string;
    }
  | { readonly type: "file"; readonly path: string; readonly content: string }
  | {
      readonly type: "selection";
      readonly path: string;
      readonly content: string;
      readonly startLine: number;
      readonly endLine: number;
    }
  | { readonly type: "note"; readonly label: string; readonly content: string };

/** A `ConversationAction` (wire section 4.4). */
export type Action =
  | {
      readonly kind: "userMessage";
      readonly message: UserMessage;
      readonly prepend: readonly UserMessage[];
      readonly context?: RequestContext;
      readonly resolutions: readonly CallResolution[];
      /** Plain messages of a client that keeps no blobs (`UserMessageAction.conversation_history`): serialized `ConversationHistory`. */
      readonly plainHistory?: Uint8Array;
    }
  | { readonly kind: "resume"; readonly context?: RequestContext }
  | { readonly kind: "cancel"; readonly reason: string; readonly resolutions: readonly CallResolution[] }
  /** `messageId`: of the user message by which it was asked for, if it was. */
  | { readonly kind: "summarize"; readonly messageId?: MessageId }
  | {
      readonly kind: "startPlan";
      readonly message: UserMessage;
      readonly context?: RequestContext;
      readonly spec: boolean;
    }
  | { readonly kind: "executePlan"; readonly message: UserMessage; readonly context?: RequestContext }
  | { readonly kind: "asyncAnswer"; readonly callId: ToolCallId; readonly text: string }
  | { readonly kind: "cancelSubagent"; readonly subagentId: string }
  | { readonly kind: "backgroundCompletion"; readonly completions: readonly BackgroundCompletion[] }
  | { readonly kind: "inject"; readonly injection: Injection }
  | { readonly kind: "unsupported"; readonly name: string };

export interface Injection {
  readonly injectionId: InjectionId;
  /** Compared with the wire run ids of the Run; empty matches only a Run without any. */
  readonly expectedRunId: string;
  readonly payload:
    | { readonly type: "user"; readonly message: UserMessage; readonly context?: RequestContext }
    | { readonly type: "system"; readonly producer: string; readonly content: string };
}

export interface BackgroundCompletion {
  readonly taskKind: "shell" | "subagent" | "other";
  readonly status: "completed" | "failed" | "cancelled" | "progress";
  readonly taskId: string;
  readonly subagentId?: string;
  readonly callId?: ToolCallId;
  readonly title: string;
  readonly detail: string;
  readonly outputPath?: string;
}

/** A last result that the client gives for a call that it aborted itself. `wire`: serialized `InterruptedPendingToolCallResolution`. */
export interface CallResolution {
  readonly callId: ToolCallId;
  readonly wire: Uint8Array;
}

/** `ExecClientMessage`; `body` is opaque to all but `tools` and the codec. */
export interface ExecReply {
  readonly execId: number;
  readonly body: Opaque<"agent.v1.ExecClientMessage">;
}
export type ExecControl =
  | { readonly kind: "close"; readonly execId: number }
  | { readonly kind: "heartbeat"; readonly execId: number }
  | { readonly kind: "throw"; readonly execId: number; readonly message: string };
export type KvReply =
  | { readonly kind: "set"; readonly kvId: number; readonly error?: string }
  | { readonly kind: "get"; readonly kvId: number; readonly data: Uint8Array; readonly error?: string };
/** `InteractionResponse`; opaque to all but `tools`. */
export interface QueryReply {
  readonly queryId: number;
  readonly body: Opaque<"agent.v1.InteractionResponse">;
}

declare const opaque: unique symbol;
/** A wire value that only the package that owns its codec looks into. */
export interface Opaque<Name extends string> {
  readonly [opaque]: Name;
}

/** What the gateway hands to the conversation for a Run request, prewarm or action. */
export interface CommandEnvelope {
  readonly principal: Principal;
  readonly generation: Generation;
  readonly carrier: Carrier;
  readonly message: Extract<UplinkMessage, { kind: "run" | "prewarm" | "action" }>;
  /** First request id of a chain of retries (`x-original-request-id`). */
  readonly originalRequestId?: RequestId;
  /** Both parent headers, or neither (wire section 2.5). */
  readonly parent?: { readonly requestId: RequestId; readonly callId: ToolCallId };
  readonly clientVersion?: string;
}
