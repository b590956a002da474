import type { BackgroundCompletion } from "@chartroom/domain";
import {
  type BackgroundTaskCompletion,
  BackgroundTaskKind as Kind,
  BackgroundTaskStatus as Status,
} from "@chartroom/protocols/agent/v1/conversation_action";
import { BackgroundTaskCompletionReason as Reason } from "@chartroom/protocols/agent/v1/subagent_state";
import { parseToolCallId } from "./identity.ts";

/** The end or the progress of a background shell or subagent (wire section 9). */
export function backgroundCompletion(wire: BackgroundTaskCompletion): BackgroundCompletion {
  const callId = parseToolCallId(wire.toolCallId ?? "", "tool_call_id");
  return {
    taskKind: wire.kind === Kind.SHELL ? "shell" : wire.kind === Kind.SUBAGENT ? "subagent" : "other",
    status: wire.reason === Reason.TASK_PROGRESS ? "progress" : status(wire.status),
    taskId: wire.taskId,
    ...(wire.subagentId === undefined || wire.subagentId === "" ? {} : { subagentId: wire.subagentId }),
    ...(callId.ok ? { callId: callId.value } : {}),
    title: wire.title,
    detail: wire.detail ?? "",
    ...(wire.outputPath === undefined || wire.outputPath === "" ? {} : { outputPath: wire.outputPath }),
  };
}

function status(wire: Status): BackgroundCompletion["status"] {
  switch (wire) {
    case Status.ERROR:
      return "failed";
    case Status.ABORTED:
      return "cancelled";
    default:
      return "completed";
  }
}
