import { create } from "@bufbuild/protobuf";
import { type SubagentArgs, type SubagentResult, SubagentResultSchema, TaskMode } from "@chartroom/protocols/agent";
import { fitsHeader } from "../transport/headers.ts";
import type { Mode } from "../store/conversations.ts";
import type { Conversation } from "./conversation.ts";
import type { TurnEvent } from "./events.ts";
import type { Turn, TurnOptions } from "./turn.ts";

export interface SubagentPorts {
  /** A child conversation: new, or the known one of that id. */
  child(parent: Conversation, model: string, mode: Mode, agentId: string | undefined): Promise<Conversation>;
  run(child: Conversation, options: TurnOptions): Turn;
  uuid(): string;
}

/** Runs a subagent as a run of its own to its end, and gives its last words (wire section 9). It never goes to the background. */
export async function runSubagent(
  args: SubagentArgs,
  parent: { readonly conversation: Conversation; readonly requestId: string },
  ports: SubagentPorts,
  onEvent: (agentId: string, event: TurnEvent) => void,
  signal: AbortSignal,
): Promise<SubagentResult> {
  if (!fitsHeader(args.toolCallId)) throw new Error("the id of the call cannot be sent in a header");
  const model = args.modelId === "" || args.modelId === "inherit" ? parent.conversation.model : args.modelId;
  const child = await ports.child(parent.conversation, model, modeOf(args), args.resumeAgentId);
  const turn = ports.run(child, {
    action: { kind: "message", message: { messageId: ports.uuid(), text: args.prompt } },
    parent: { requestId: parent.requestId, toolCallId: args.toolCallId },
    subagent: {
      typeName: args.subagentType,
      groupId: args.rootParentConversationId ?? parent.conversation.id,
    },
  });
  const stop = () => turn.cancel();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  let toolCallCount = 0;
  for await (const event of turn) {
    if (event.type === "tool.started") toolCallCount += 1;
    onEvent(child.id, event);
  }
  signal.removeEventListener("abort", stop);
  child.close();
  const { outcome, text, error } = await turn.result;
  if (outcome === "completed") {
    const success = { agentId: child.id, finalMessage: text, toolCallCount };
    return create(SubagentResultSchema, { result: { case: "success", value: success } });
  }
  const reason = outcome === "cancelled" ? "the subagent was stopped" : (error?.title ?? "the subagent failed");
  return create(SubagentResultSchema, { result: { case: "error", value: { agentId: child.id, error: reason } } });
}

function modeOf(args: SubagentArgs): Mode {
  if (args.mode === TaskMode.PLAN) return "plan";
  return args.readonly ? "ask" : "agent";
}
