import type { AgentMode, Result, UserMessage } from "@chartroom/domain";
import { AgentMode as WireMode } from "@chartroom/protocols/agent/v1/common";
import type { UserMessage as WireUserMessage } from "@chartroom/protocols/agent/v1/user_message";
import { attachments } from "./attachment.ts";
import { blobIdOf } from "./blob.ts";
import { parseMessageId } from "./identity.ts";
import { ok, type WireError } from "./result.ts";

/**
 * A message of the user (wire section 4.6). `bytes` is its serialized form as it came. Without a message id it is
 * refused: a retry could not be told from a new message.
 */
export function fromWireUserMessage(wire: WireUserMessage, bytes: Uint8Array): Result<UserMessage, WireError> {
  const messageId = parseMessageId(wire.messageId, "message_id");
  if (!messageId.ok) return messageId;
  const textBlob = wire.textBlobId === undefined ? undefined : blobIdOf(wire.textBlobId);
  return ok({
    messageId: messageId.value,
    text: wire.text,
    ...(textBlob === undefined || wire.text !== "" ? {} : { textBlob }),
    mode: fromWireMode(wire.mode),
    simulated: wire.isSimulatedMsg === true,
    attachments: attachments(wire.selectedContext),
    wire: bytes,
  });
}

/** A chat mode; one that is not set or not known is `agent`. */
export function fromWireMode(mode: WireMode): AgentMode {
  switch (mode) {
    case WireMode.ASK:
      return "ask";
    case WireMode.PLAN:
      return "plan";
    case WireMode.DEBUG:
      return "debug";
    case WireMode.TRIAGE:
      return "triage";
    case WireMode.PROJECT:
      return "project";
    case WireMode.MULTITASK:
      return "multitask";
    case WireMode.CUSTOM:
      return "custom";
    default:
      return "agent";
  }
}

const TO_WIRE: Record<AgentMode, WireMode> = {
  agent: WireMode.AGENT,
  ask: WireMode.ASK,
  plan: WireMode.PLAN,
  debug: WireMode.DEBUG,
  triage: WireMode.TRIAGE,
  project: WireMode.PROJECT,
  multitask: WireMode.MULTITASK,
  custom: WireMode.CUSTOM,
};

/** The wire's number of a chat mode. */
export function toWireMode(mode: AgentMode): WireMode {
  return TO_WIRE[mode];
}
