import { pathTo, readState, relate } from "@chartroom/history";
import type { CanonicalMessage, CheckpointId, HistoryId, RunRequest, ToolCallRow, ToolScope } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { EarlierFrames, LiveRun } from "../activation/live-run.ts";

/** Stands between what a killed server had shown of a Step and that Step anew. */
const RESUMED = "\n\n(The server was interrupted here and goes on.)\n\n";

/**
 * The committed messages of a Run as updates: text, thinking and tool cards (lifecycle spec, section 6). A partial message
 * that its Step follows anew is closed with a server notice (section 7); `goesOn`: one that is the last is followed too.
 */
export function rebuildMessages(
  activation: Activation,
  messages: readonly CanonicalMessage[],
  calls: readonly ToolCallRow[],
  scope: ToolScope,
  goesOn = false,
): readonly EarlierFrames[] {
  const { codec, tools, clock } = activation.deps;
  return messages.map(({ id, content }, at): EarlierFrames => {
    if (content.kind === "assistant") {
      const frames = content.record.blocks.map((block) =>
        codec.update(
          block.type === "text" ? { kind: "text", text: block.text } : { kind: "thinking", text: block.text },
        ),
      );
      // the card of a call that is still open: what its beginning shows, without what it asks
      const open = calls.filter(
        (call) => call.status === "open" && content.record.calls.some((own) => own.id === call.callId),
      );
      const cards = open.flatMap((call) =>
        tools
          .execute(scope, call.record, call.modelCallId)
          .begin(clock.now())
          .flatMap((effect) => (effect.type === "update" ? [effect.frame] : [])),
      );
      const next = messages[at + 1];
      const anew = next === undefined ? goesOn : next.content.kind === "assistant";
      const notice =
        content.record.partial && anew ? [codec.update({ kind: "text", text: RESUMED, serverNotice: true })] : [];
      return { id, frames: [...frames, ...cards, ...notice] };
    }
    if (content.kind !== "toolResult") return { id, frames: [] };
    const call = calls.find((one) => one.callId === content.result.callId);
    return { id, frames: call ? [tools.completedCard(scope, call.record, call.modelCallId, content.result)] : [] };
  });
}

/** The scope for cards of a Run that is not compiled: cards need no offers. */
export function plainScope(activation: Activation, runId: LiveRun["row"]["runId"]): ToolScope {
  return { conversationId: activation.conversationId, runId, mode: "agent", offers: [], context: undefined };
}

/** Keeps what a restored Run has shown, before it shows more; `goesOn`: its last Step is made again. */
export async function rememberEarlier(activation: Activation, run: LiveRun, goesOn: boolean): Promise<void> {
  const { store } = activation.deps;
  await activation.loadHistory();
  const own = activation.history.view.messages.filter((message) => message.runId === run.row.runId);
  const calls = await store.toolCalls(activation.lease, run.row.runId);
  run.earlier = rebuildMessages(activation, own, calls, plainScope(activation, run.row.runId), goesOn);
}

/** The node that the state of a resuming client stands for; `undefined`: it is to see the whole Run. */
export function resumePointOf(activation: Activation, request: RunRequest): CheckpointId | undefined {
  if (request.action.kind !== "resume") return undefined;
  const read = readState(request.state);
  if (!read.ok || read.outline.empty) return undefined;
  const { chain, view } = activation.history;
  const relation = relate(read.outline, chain, view.head);
  switch (relation.kind) {
    case "continue":
      return relation.base;
    case "stale":
      return relation.from;
    case "rewind":
      return relation.base;
    default:
      return undefined;
  }
}

/** Messages that a client at this node has: those of the branch up to it. */
export function messagesUpTo(activation: Activation, node: CheckpointId | undefined): ReadonlySet<HistoryId> {
  return new Set(node === undefined ? [] : pathTo(activation.history.chain, node).flatMap(({ added }) => added));
}
