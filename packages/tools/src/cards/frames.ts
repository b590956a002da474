import type { ModelCallId, ToolCallId } from "@chartroom/domain";
import { agent, create, encodeServerMessage, type ExecArgs, type ToolVariant } from "../wire.ts";

/** Which call a frame is about. The internal id is `call_id`, `tool_call_id` and `exec_id` alike (wire section 4.8). */
export interface CallIdentity {
  readonly callId: ToolCallId;
  readonly modelCallId: ModelCallId;
}

export interface CallTimes {
  readonly startedAtMs?: number | undefined;
  readonly completedAtMs?: number | undefined;
}

export interface CallExtras extends CallTimes {
  readonly hooks?: readonly agent.HookAdditionalContext[];
}

/** `agent.v1.ToolCall` of a call. */
export function toolCall(tool: ToolVariant, callId: ToolCallId, extras: CallExtras = {}): agent.ToolCall {
  return create(agent.ToolCallSchema, {
    tool,
    toolCallId: callId,
    hookAdditionalContexts: [...(extras.hooks ?? [])],
    ...(extras.startedAtMs !== undefined && { startedAtMs: BigInt(extras.startedAtMs) }),
    ...(extras.completedAtMs !== undefined && { completedAtMs: BigInt(extras.completedAtMs) }),
  });
}

function update(message: agent.InteractionUpdate["message"]): Uint8Array {
  const value = create(agent.InteractionUpdateSchema, { message });
  return encodeServerMessage({ message: { case: "interactionUpdate", value } });
}

/** `partial_tool_call`: opens the bubble, or shows more of its arguments. */
export function partialFrame(identity: CallIdentity, tool: ToolVariant, argsText = ""): Uint8Array {
  const value = create(agent.PartialToolCallUpdateSchema, {
    callId: identity.callId,
    modelCallId: identity.modelCallId,
    toolCall: toolCall(tool, identity.callId),
    argsTextDelta: argsText,
  });
  return update({ case: "partialToolCall", value });
}

/** `tool_call_started`: the complete arguments. */
export function startedFrame(identity: CallIdentity, tool: ToolVariant, startedAtMs: number): Uint8Array {
  const value = create(agent.ToolCallStartedUpdateSchema, {
    callId: identity.callId,
    modelCallId: identity.modelCallId,
    toolCall: toolCall(tool, identity.callId, { startedAtMs }),
  });
  return update({ case: "toolCallStarted", value });
}

/** `tool_call_delta`: output of a call that has started, or text that streams into a file. */
export function deltaFrame(identity: CallIdentity, delta: agent.ToolCallDelta["delta"]): Uint8Array {
  const value = create(agent.ToolCallDeltaUpdateSchema, {
    callId: identity.callId,
    modelCallId: identity.modelCallId,
    toolCallDelta: create(agent.ToolCallDeltaSchema, { delta }),
  });
  return update({ case: "toolCallDelta", value });
}

/** `tool_call_completed`: arguments and result. */
export function completedFrame(identity: CallIdentity, call: agent.ToolCall): Uint8Array {
  const value = create(agent.ToolCallCompletedUpdateSchema, {
    callId: identity.callId,
    modelCallId: identity.modelCallId,
    toolCall: call,
  });
  return update({ case: "toolCallCompleted", value });
}

/** `exec_server_message`; hook contexts are accepted, for they go to the model with the result (wire section 5.1). */
export function execFrame(execId: number, callId: ToolCallId, message: ExecArgs): Uint8Array {
  const value = create(agent.ExecServerMessageSchema, {
    id: execId,
    execId: callId,
    message,
    acceptHookAdditionalContexts: true,
  });
  return encodeServerMessage({ message: { case: "execServerMessage", value } });
}
