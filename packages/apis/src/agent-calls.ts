import { agent, type Rpc } from "@chartroom/gateway/face";
import { answeredEmpty } from "./empty.ts";

/** Calls of `AgentService` beside its streams for which an empty answer is enough (wire section 14). */
export function agentCalls(): readonly Rpc[] {
  const { method } = agent.AgentService;
  return [
    answeredEmpty(method.updateConversationMetadata),
    answeredEmpty(method.createTranscriptOverview),
    answeredEmpty(method.getAllowedModelIntents),
    answeredEmpty(method.uploadConversationBlobs),
    answeredEmpty(method.getSignedUrlForAttachedMedia),
    answeredEmpty(method.notifyConversationClone),
    answeredEmpty(method.getNewChatNudgeLegacyModelPicker),
    answeredEmpty(method.getNewChatNudgeParameterizedModelPicker),
  ];
}
