import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { AgentServerMessageSchema } from "@chartroom/protocols/agent";
import type { TurnInput } from "../src/session/state.ts";

type Body = Extract<MessageInitShape<typeof AgentServerMessageSchema>, { message?: unknown }>["message"];

/** A message of the server as the conduct of a turn takes it. */
export function incoming(message: Body): TurnInput {
  return {
    type: "message",
    message: create(AgentServerMessageSchema, { message } as never),
    checkpoint: message?.case === "conversationCheckpointUpdate" ? Uint8Array.of(1) : undefined,
  };
}

export function update(message: object): TurnInput {
  return incoming({ case: "interactionUpdate", value: { message } as never });
}

export const text = (value: string) => update({ case: "textDelta", value: { text: value } });
export const thinking = (value: string) => update({ case: "thinkingDelta", value: { text: value } });
export const thought = () => update({ case: "thinkingCompleted", value: { thinkingDurationMs: 5 } });
export const turnEnded = () => update({ case: "turnEnded", value: {} });
export const heartbeat = () => update({ case: "heartbeat", value: {} });
export const checkpoint = (pendingToolCalls: string[] = []) =>
  incoming({ case: "conversationCheckpointUpdate", value: { pendingToolCalls } });
const card = (callId: string) => ({
  callId,
  toolCall: { toolCallId: callId, tool: { case: "shellToolCall", value: {} } },
});
export const started = (callId: string) => update({ case: "toolCallStarted", value: card(callId) });
export const completed = (callId: string) => update({ case: "toolCallCompleted", value: card(callId) });
export const partial = (callId: string) => update({ case: "partialToolCall", value: card(callId) });
export const output = (callId: string, content: string) =>
  update({
    case: "toolCallDelta",
    value: {
      callId,
      toolCallDelta: {
        delta: { case: "shellToolCallDelta", value: { delta: { case: "stdout", value: { content } } } },
      },
    },
  });
