import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { wrap } from "@chartroom/protocol";
import {
  AgentClientMessageSchema,
  AgentMode,
  AgentRunRequestSchema,
  BackgroundTaskCompletionReason,
  type BackgroundTaskCompletionSchema,
  BackgroundTaskKind,
  BackgroundTaskStatus,
  type ConversationActionSchema,
  type McpToolDefinition,
  type RequestContext,
} from "@chartroom/protocols/agent";
import type { ClientMessage } from "../execution/executions.ts";
import type { BackgroundEnd } from "../shells/shells.ts";
import type { Mode } from "../store/conversations.ts";
import type { SentMessage } from "./events.ts";

/** What a turn is about. */
export type TurnAction =
  | { readonly kind: "message"; readonly message: SentMessage }
  /** Go on with what the conversation's state leaves open. */
  | { readonly kind: "resume" }
  | { readonly kind: "summarize" }
  | { readonly kind: "background"; readonly ends: readonly BackgroundEnd[] };

export interface RunRequestParts {
  readonly conversationId: string;
  /** Serialized `ConversationStateStructure`: the last checkpoint, as it came; undefined in a new chat. */
  readonly checkpoint: Uint8Array | undefined;
  readonly action: TurnAction;
  readonly context: RequestContext;
  readonly model: string;
  readonly mode: Mode;
  readonly runId: string;
  readonly agentSessionId: string;
  readonly tools: readonly McpToolDefinition[];
  /** Set on a subagent's run (wire section 9). */
  readonly subagent?: { readonly typeName: string; readonly groupId: string };
}

type ActionInit = NonNullable<
  Extract<MessageInitShape<typeof ConversationActionSchema>, { action?: unknown }>["action"]
>;
type CompletionInit = MessageInitShape<typeof BackgroundTaskCompletionSchema>;

/** The first message of a run, serialized; the checkpoint goes back byte for byte (wire sections 4.3, 8.2). */
export function runRequest(parts: RunRequestParts): Uint8Array {
  const request = create(AgentRunRequestSchema, {
    action: { action: actionOf(parts) },
    mcpTools: { mcpTools: [...parts.tools] },
    conversationId: parts.conversationId,
    requestedModel: { modelId: parts.model },
    runId: parts.runId,
    agentSessionId: parts.agentSessionId,
    clientSupportsInlineImages: true,
    ...(parts.subagent === undefined
      ? {}
      : { subagentTypeName: parts.subagent.typeName, conversationGroupId: parts.subagent.groupId }),
  });
  const state = wrap([1], parts.checkpoint ?? new Uint8Array());
  return wrap([1], Buffer.concat([state, toBinary(AgentRunRequestSchema, request)]));
}

/** Any other message of the client, serialized. */
export function encodeMessage(message: ClientMessage): Uint8Array {
  return toBinary(AgentClientMessageSchema, create(AgentClientMessageSchema, { message }));
}

/** A user's message on a live stream: stops the step under way and goes on with it (wire section 10). */
export function liveMessage(message: SentMessage, mode: Mode, requestContext: RequestContext): ActionInit {
  return { case: "userMessageAction", value: { userMessage: userMessage(message, mode), requestContext } };
}

/** The same as an injection, which names the run that it is for. */
export function injection(
  injectionId: string,
  expectedRunId: string,
  message: SentMessage,
  mode: Mode,
  requestContext: RequestContext,
): ActionInit {
  const userContext = { userMessage: userMessage(message, mode), requestContext };
  return {
    case: "injectContextAction",
    value: { injectionId, expectedRunId, payload: { case: "userContext", value: userContext } },
  };
}

export function backgroundCompletion(ends: readonly BackgroundEnd[]): ActionInit {
  return { case: "backgroundTaskCompletionAction", value: { completions: ends.map(completionOf) } };
}

export function modeNumber(mode: Mode): AgentMode {
  const modes = { agent: AgentMode.AGENT, ask: AgentMode.ASK, plan: AgentMode.PLAN };
  return modes[mode];
}

function actionOf({ action, context: requestContext, mode }: RunRequestParts): ActionInit {
  switch (action.kind) {
    case "message":
      return {
        case: "userMessageAction",
        value: { userMessage: userMessage(action.message, mode), requestContext },
      };
    case "resume":
      return { case: "resumeAction", value: { requestContext } };
    case "summarize":
      return { case: "summarizeAction", value: {} };
    case "background":
      return backgroundCompletion(action.ends);
  }
}

function userMessage({ messageId, text }: SentMessage, mode: Mode) {
  return { text: text.toWellFormed(), messageId, mode: modeNumber(mode) };
}

function completionOf({ shell, code, aborted }: BackgroundEnd): CompletionInit {
  const { SUCCESS, ERROR, ABORTED } = BackgroundTaskStatus;
  return {
    taskId: String(shell.id),
    kind: BackgroundTaskKind.SHELL,
    status: aborted ? ABORTED : code === 0 ? SUCCESS : ERROR,
    title: shell.title,
    detail: `exit code ${code}`,
    outputPath: shell.file,
    reason: BackgroundTaskCompletionReason.TASK_FINISHED,
    toolCallId: shell.toolCallId,
  };
}
