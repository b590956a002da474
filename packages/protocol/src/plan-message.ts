import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import type { UserMessage } from "@chartroom/domain";
import type { ExecutePlanAction } from "@chartroom/protocols/agent/v1/conversation_action";
import { SimulatedMsgReason, UserMessageSchema } from "@chartroom/protocols/agent/v1/user_message";
import type { Decoded } from "./result.ts";
import { fromWireUserMessage } from "./user-message.ts";

/**
 * The simulated user message that carries out a plan (wire sections 4.4 and 10). Its id is `kickoff_message_id`; a client
 * that gives none gets one made of the action's bytes, so that a retry has the same.
 */
export function executePlanMessage(wire: ExecutePlanAction, actionBytes: Uint8Array): Decoded<UserMessage> {
  const digest = createHash("sha256").update(actionBytes).digest("hex");
  const messageId =
    wire.kickoffMessageId === undefined || wire.kickoffMessageId === "" ? `plan-${digest}` : wire.kickoffMessageId;
  const message = create(UserMessageSchema, {
    text: planText(wire),
    messageId,
    mode: wire.executionMode,
    isSimulatedMsg: true,
    simulatedMsgReason: SimulatedMsgReason.PLAN_EXECUTION,
    ...(wire.planId === undefined ? {} : { executePlanInfo: { planId: wire.planId } }),
  });
  return fromWireUserMessage(message, toBinary(UserMessageSchema, message));
}

function planText(wire: ExecutePlanAction): string {
  const plan = [wire.planFileContent, wire.plan?.plan].find((text) => text !== undefined && text !== "");
  const place = [wire.planFilePath, wire.planFileUri].find((text) => text !== undefined && text !== "");
  const head = place === undefined ? "Carry out this plan." : `Carry out the plan in ${place}.`;
  return plan === undefined ? head : `${head}\n\n<plan>\n${plan}\n</plan>`;
}
