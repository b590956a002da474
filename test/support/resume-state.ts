import { createHash } from "node:crypto";
import { agent, fromBinary, toBinary } from "@chartroom/protocol";

/**
 * A checkpoint with open calls as a client that has carried one out itself sends it back: the call is no longer pending,
 * the assistant message and the result are root prompt messages (wire sections 8.3, 8.4). `blobs`: those messages.
 */
export function withResult(
  checkpoint: Uint8Array,
  callId: string,
  result: string,
): { readonly bytes: Uint8Array; readonly blobs: readonly Uint8Array[] } {
  const state = fromBinary(agent.ConversationStateStructureSchema, checkpoint);
  const pending = state.pendingToolCalls.map(
    (text) => JSON.parse(text) as { content: readonly { toolCallId?: string }[] },
  );
  const called = pending.find(({ content }) => content.some(({ toolCallId }) => toolCallId === callId));
  if (called === undefined) throw new Error("no such call is pending");
  const told = { type: "tool-result", toolCallId: callId, toolName: "Read", result };
  const { content } = called;
  const blobs = [
    { role: "assistant", id: "1", content },
    { role: "tool", id: callId, content: [told] },
  ].map((message) => Buffer.from(JSON.stringify(message)));
  state.pendingToolCalls = [];
  state.rootPromptMessagesJson.push(...blobs.map((data) => createHash("sha256").update(data).digest()));
  return { bytes: toBinary(agent.ConversationStateStructureSchema, state), blobs };
}
