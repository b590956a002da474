import { type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  type InteractionUpdate,
  type ToolCall,
  ToolCallSchema,
  type TurnEndedUpdate,
} from "@chartroom/protocols/agent";
import type { ToolView, TurnEvent, TurnUsage } from "./events.ts";

/** What an update tells (wire section 4.7); undefined for a heartbeat. */
export function eventOf(update: InteractionUpdate): TurnEvent | undefined {
  const { message } = update;
  switch (message.case) {
    case "textDelta":
      return message.value.isServerNotice
        ? { type: "notice", text: message.value.text }
        : { type: "text", text: message.value.text };
    case "thinkingDelta":
      return { type: "thinking", text: message.value.text };
    case "thinkingCompleted":
      return { type: "thinking.completed", durationMs: message.value.thinkingDurationMs };
    case "partialToolCall": {
      const { callId, toolCall, argsTextDelta } = message.value;
      return { type: "tool.partial", ...toolView(callId, toolCall), argsText: argsTextDelta };
    }
    case "toolCallStarted":
      return { type: "tool.started", ...toolView(message.value.callId, message.value.toolCall) };
    case "toolCallCompleted":
      return { type: "tool.completed", ...toolView(message.value.callId, message.value.toolCall) };
    case "toolCallDelta":
      return outputOf(message.value);
    case "userMessageAppended": {
      const { messageId = "", text = "" } = message.value.userMessage ?? {};
      return { type: "message.appended", messageId, text };
    }
    case "contextInjectionState": {
      const { injectionId, state } = message.value;
      const reason = state?.state.case === "rejected" ? state.state.value.reason : "";
      return { type: "injection", injectionId, state: state?.state.case ?? "unknown", reason };
    }
    case "summaryStarted":
      return { type: "summary.started" };
    case "summary":
      return { type: "summary", text: message.value.summary };
    case "summaryCompleted":
      return { type: "summary.completed" };
    case "turnEnded":
      return { type: "turn.ended", ...usageOf(message.value) };
    case "stepStarted":
      return { type: "step", phase: "started", step: Number(message.value.stepId) };
    case "stepCompleted":
      return { type: "step", phase: "completed", step: Number(message.value.stepId) };
    case "routedModel":
      return { type: "model", name: message.value.displayName };
    case "promptSuggestion":
      return { type: "suggestion", text: message.value.suggestion };
    case "heartbeat":
    case "tokenDelta":
    case undefined:
      return undefined;
    default:
      return { type: "other", kind: message.case };
  }
}

/** A tool call as people and scripts see it. */
export function toolView(callId: string, call: ToolCall | undefined): ToolView {
  const toolCallId = call?.toolCallId ?? callId;
  if (call?.tool.case === undefined) return { callId, toolCallId, tool: "unknown", args: {} };
  const { args, result } = jsonOf(call, call.tool.case);
  const outcome = result === undefined ? undefined : caseOf(call.tool.value);
  return {
    callId,
    toolCallId,
    tool: call.tool.case.replace(/ToolCall$/, ""),
    args: args ?? {},
    ...(result === undefined ? {} : { result }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

function jsonOf(call: ToolCall, name: string): { readonly args?: JsonValue; readonly result?: JsonValue } {
  try {
    const json = toJson(ToolCallSchema, call) as Record<string, object | undefined>;
    return json[name] ?? {};
  } catch {
    // a value that JSON has no form for
    return {};
  }
}

function caseOf(tool: object): string | undefined {
  const { result } = tool as { readonly result?: { readonly result?: { readonly case?: unknown } } };
  return typeof result?.result?.case === "string" ? result.result.case : undefined;
}

function outputOf(delta: Extract<InteractionUpdate["message"], { case: "toolCallDelta" }>["value"]): TurnEvent {
  const { callId } = delta;
  const inner = delta.toolCallDelta?.delta;
  if (inner?.case === "shellToolCallDelta" && inner.value.delta.case !== undefined) {
    const { case: stream, value } = inner.value.delta;
    return { type: "tool.output", callId, stream, text: value.content };
  }
  if (inner?.case === "editToolCallDelta") {
    return { type: "tool.output", callId, stream: "edit", text: inner.value.streamContentDelta };
  }
  return { type: "other", kind: inner?.case ?? "toolCallDelta" };
}

function usageOf(ended: TurnEndedUpdate): TurnUsage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = ended;
  const counts = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens };
  return Object.fromEntries(
    Object.entries(counts).flatMap(([name, count]) => (count === undefined ? [] : [[name, Number(count)]])),
  );
}
