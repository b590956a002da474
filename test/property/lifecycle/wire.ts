import { agent, create, decodeUplink, fromBinary, type MessageInitShape, toBinary } from "@chartroom/protocol";
import type { UplinkMessage } from "@chartroom/domain";

export type ActionInit = NonNullable<MessageInitShape<typeof agent.ConversationActionSchema>["action"]>;
export type ClientInit = MessageInitShape<typeof agent.AgentClientMessageSchema>;

const context = { env: { timeZone: "UTC" } };

/** A client's message as the gateway hands it on. */
export function uplink(message: ClientInit): UplinkMessage {
  const decoded = decodeUplink(
    toBinary(agent.AgentClientMessageSchema, create(agent.AgentClientMessageSchema, message)),
  );
  if (!decoded.ok) throw new Error(`the test's message cannot be read: ${JSON.stringify(decoded.error)}`);
  return decoded.value;
}

export function runRequest(
  conversationId: string,
  action: ActionInit,
  more: { readonly state: Uint8Array; readonly runId?: string },
): ClientInit {
  return {
    message: {
      case: "runRequest",
      value: {
        conversationId,
        action: { action },
        mcpTools: {},
        requestedModel: { modelId: "demo-model" },
        conversationState:
          more.state.length === 0 ? {} : fromBinary(agent.ConversationStateStructureSchema, more.state),
        ...(more.runId === undefined ? {} : { runId: more.runId }),
      },
    },
  };
}

const message = (text: string, messageId: string) => ({ text, messageId, mode: agent.AgentMode.AGENT });

export const actions = {
  user: (text: string, messageId: string): ActionInit => ({
    case: "userMessageAction",
    value: { userMessage: message(text, messageId), requestContext: context },
  }),
  /** Without a context: the client is asked for it. */
  bareUser: (text: string, messageId: string): ActionInit => ({
    case: "userMessageAction",
    value: { userMessage: message(text, messageId) },
  }),
  resume: (): ActionInit => ({ case: "resumeAction", value: { requestContext: context } }),
  cancel: (): ActionInit => ({ case: "cancelAction", value: { reason: "user" } }),
  summarize: (): ActionInit => ({ case: "summarizeAction", value: {} }),
  cancelSubagent: (): ActionInit => ({ case: "cancelSubagentAction", value: { subagentId: "s" } }),
  unknown: (): ActionInit => ({ case: "shellCommandAction", value: { execId: "x" } }),
  startPlan: (text: string, messageId: string): ActionInit => ({
    case: "startPlanAction",
    value: { userMessage: message(text, messageId), requestContext: context },
  }),
  executePlan: (text: string, messageId: string): ActionInit => ({
    case: "executePlanAction",
    value: { plan: { plan: text }, kickoffMessageId: messageId, requestContext: context },
  }),
  asyncAnswer: (text: string, callId: string): ActionInit => ({
    case: "asyncAskQuestionCompletionAction",
    value: {
      originalToolCallId: callId,
      result: { result: { case: "success", value: { answers: [{ questionId: "q", freeformText: text }] } } },
    },
  }),
  completion: (text: string, taskId: string): ActionInit => ({
    case: "backgroundTaskCompletionAction",
    value: {
      completions: [
        {
          kind: agent.BackgroundTaskKind.SHELL,
          status: agent.BackgroundTaskStatus.SUCCESS,
          taskId,
          title: text,
          detail: "over",
        },
      ],
    },
  }),
  inject: (text: string, injectionId: string, expectedRunId: string, system: boolean): ActionInit => ({
    case: "injectContextAction",
    value: {
      injectionId,
      expectedRunId,
      payload: system
        ? { case: "systemContext", value: { producer: "hook", content: text } }
        : { case: "userContext", value: { userMessage: message(text, `m-${injectionId}`) } },
    },
  }),
};
