import { toBinary } from "@bufbuild/protobuf";
import type { Action, BlobContent, CallResolution, RequestContext, UserMessage } from "@chartroom/domain";
import {
  type ConversationAction,
  ConversationActionSchema,
  type InjectContextAction,
  InterruptedPendingToolCallResolutionSchema,
  type InterruptedPendingToolCallResolutions,
  type UserMessageAction,
} from "@chartroom/protocols/agent/v1/conversation_action";
import { ConversationHistorySchema } from "@chartroom/protocols/agent/v1/conversation_history";
import type { RequestContext as WireContext } from "@chartroom/protocols/agent/v1/request_context";
import { type UserMessage as WireUserMessage, UserMessageSchema } from "@chartroom/protocols/agent/v1/user_message";
import { answerText } from "./answer-text.ts";
import { backgroundCompletion } from "./background-completion.ts";
import { fieldPayloads, onlyPayload } from "./bytes.ts";
import { contextOf } from "./context-parts.ts";
import { parseInjectionId, parseToolCallId } from "./identity.ts";
import { executePlanMessage } from "./plan-message.ts";
import { type Decoded, err, ok } from "./result.ts";
import { fromWireUserMessage } from "./user-message.ts";

/** What an action is decoded with. */
interface Source {
  /** The serialized action, to take parts of it as they came. */
  readonly bytes: Uint8Array;
  readonly prefetched: readonly BlobContent[];
}

/**
 * A `ConversationAction` (wire section 4.4). Kinds that this server does not carry out, and those that it does not know,
 * are `unsupported` with their name; they are never an error.
 */
export function fromWireAction(
  wire: ConversationAction,
  bytes: Uint8Array = toBinary(ConversationActionSchema, wire),
  prefetched: readonly BlobContent[] = [],
): Decoded<Action> {
  const source: Source = { bytes, prefetched };
  const context = (whole: WireContext | undefined): { readonly context?: RequestContext } => {
    const value = contextOf(whole, wire.requestContextParts, prefetched);
    return value === undefined ? {} : { context: value };
  };
  const { action } = wire;
  switch (action.case) {
    case "userMessageAction":
      return userMessageAction(action.value, source, context(action.value.requestContext));
    case "resumeAction":
      return ok({ kind: "resume", ...context(action.value.requestContext) });
    case "cancelAction":
      return ok({
        kind: "cancel",
        reason: action.value.reason,
        resolutions: resolutions(action.value.interruptedPendingToolCallResolutions),
      });
    case "summarizeAction":
      return ok({ kind: "summarize" });
    case "startPlanAction": {
      const message = userMessage(action.value.userMessage, source, [6, 1]);
      if (!message.ok) return message;
      return ok({
        kind: "startPlan",
        message: message.value,
        ...context(action.value.requestContext),
        spec: action.value.isSpec,
      });
    }
    case "executePlanAction": {
      const message = executePlanMessage(action.value, bytes);
      if (!message.ok) return message;
      return ok({ kind: "executePlan", message: message.value, ...context(action.value.requestContext) });
    }
    case "asyncAskQuestionCompletionAction": {
      const callId = parseToolCallId(action.value.originalToolCallId, "original_tool_call_id");
      if (!callId.ok) return callId;
      return ok({
        kind: "asyncAnswer",
        callId: callId.value,
        text: answerText(action.value.originalArgs, action.value.result),
      });
    }
    case "cancelSubagentAction":
      return action.value.subagentId === ""
        ? err({ kind: "missing", field: "subagent_id" })
        : ok({ kind: "cancelSubagent", subagentId: action.value.subagentId });
    case "backgroundTaskCompletionAction":
      return ok({ kind: "backgroundCompletion", completions: action.value.completions.map(backgroundCompletion) });
    case "injectContextAction":
      return injection(action.value, source, context);
    case "shellCommandAction":
    case "backgroundShellAction":
    case "backgroundSubagentAction":
    case "subscriptionNotificationAction":
    case "goalContinuationAction":
      return ok({ kind: "unsupported", name: action.case });
    case undefined:
      return ok({ kind: "unsupported", name: unknownName(wire) });
    default:
      return action satisfies never;
  }
}

function userMessageAction(
  wire: UserMessageAction,
  source: Source,
  context: { readonly context?: RequestContext },
): Decoded<Action> {
  const message = userMessage(wire.userMessage, source, [1, 1]);
  if (!message.ok) return message;
  if (asksForSummary(wire, message.value))
    return ok({ kind: "summarize", ...(message.value.messageId === "" ? {} : { messageId: message.value.messageId }) });
  const queued = onlyPayload(source.bytes, [1]);
  const queuedBytes = queued === undefined ? undefined : fieldPayloads(queued, 4);
  const prepend = [];
  for (const [index, each] of wire.prependUserMessages.entries()) {
    const decoded = fromWireUserMessage(each, queuedBytes?.[index] ?? toBinary(UserMessageSchema, each));
    if (!decoded.ok) return decoded;
    prepend.push(decoded.value);
  }
  const plain = wire.conversationHistory;
  return ok({
    kind: "userMessage",
    message: message.value,
    prepend,
    ...context,
    resolutions: resolutions(wire.interruptedPendingToolCallResolutions),
    ...(plain === undefined ? {} : { plainHistory: toBinary(ConversationHistorySchema, plain) }),
  });
}

/**
 * Clients send the slash command as the text of a message (wire section 8.5). With something beside it that the model is to
 * have, it is a message like any other, so that nothing is dropped.
 */
function asksForSummary({ prependUserMessages, conversationHistory }: UserMessageAction, said: UserMessage): boolean {
  return (
    said.text.trim() === "/summarize" &&
    said.attachments.length === 0 &&
    prependUserMessages.length === 0 &&
    conversationHistory === undefined
  );
}

function injection(
  wire: InjectContextAction,
  source: Source,
  context: (whole: WireContext | undefined) => { readonly context?: RequestContext },
): Decoded<Action> {
  const injectionId = parseInjectionId(wire.injectionId, "injection_id");
  if (!injectionId.ok) return injectionId;
  const head = { injectionId: injectionId.value, expectedRunId: wire.expectedRunId };
  const { payload } = wire;
  switch (payload.case) {
    case "userContext": {
      const message = userMessage(payload.value.userMessage, source, [19, 3, 1]);
      if (!message.ok) return message;
      const user = { type: "user", message: message.value, ...context(payload.value.requestContext) } as const;
      return ok({ kind: "inject", injection: { ...head, payload: user } });
    }
    case "systemContext": {
      const { producer, content } = payload.value;
      return ok({ kind: "inject", injection: { ...head, payload: { type: "system", producer, content } } });
    }
    default:
      return ok({ kind: "unsupported", name: "injectContextAction" });
  }
}

/** Last results of calls that the client stopped itself. One whose id no call can have is left out. */
function resolutions(wire: InterruptedPendingToolCallResolutions | undefined): readonly CallResolution[] {
  return (wire?.resolutions ?? []).flatMap((each) => {
    const callId = parseToolCallId(each.toolCallId, "tool_call_id");
    return callId.ok
      ? [{ callId: callId.value, wire: toBinary(InterruptedPendingToolCallResolutionSchema, each) }]
      : [];
  });
}

function userMessage(
  wire: WireUserMessage | undefined,
  source: Source,
  path: readonly number[],
): ReturnType<typeof fromWireUserMessage> {
  if (wire === undefined) return err({ kind: "missing", field: "user_message" });
  return fromWireUserMessage(wire, onlyPayload(source.bytes, path) ?? toBinary(UserMessageSchema, wire));
}

/** Numbers of unknown fields are what an action of a newer client is known by. */
function unknownName(wire: ConversationAction): string {
  const numbers = (wire.$unknown ?? []).map((field) => field.no);
  return numbers.length === 0 ? "none" : `action ${numbers.join(", ")}`;
}
