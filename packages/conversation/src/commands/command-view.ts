import { branchHas, completionId, isUnfinished, readState, relate } from "@chartroom/history";
import type { Action, CommandEnvelope, RunId, RunRow } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { CommandView } from "./decide.ts";
import { inboxKey } from "./inbox.ts";
import { runOf } from "./run-of.ts";
import { messageIdOf } from "./message-content.ts";

/** What the command meets here and now. Reads the store only for what an idle conversation may have in it. */
export async function viewCommand(
  activation: Activation,
  envelope: CommandEnvelope,
  action: Action,
): Promise<CommandView> {
  const { store } = activation.deps;
  const phase = activation.phase;
  const messageId = messageIdOf(action);
  const living = [activation.waitingRun, activation.currentRun, activation.lastRun].find(
    (run) => messageId !== undefined && run?.row.messageId === messageId,
  );
  const asks = phase === "idle" && !isNew(activation);
  const known =
    living?.row ?? (messageId !== undefined && asks ? await store.run(activation.lease, { messageId }) : undefined);
  let unfinished = false;
  if (action.kind === "resume" && phase === "idle") {
    await activation.loadHistory();
    unfinished = isUnfinished(activation.history.view.messages) || bringsOpenCalls(activation, envelope);
  }
  return {
    phase,
    current: activation.currentRun?.row,
    waiting: activation.waitingRun?.row,
    overdue: isOverdue(activation),
    known,
    newestEnded: newestEnded(activation),
    meant: action.kind === "cancel" ? await meantRun(activation, envelope) : undefined,
    unfinished,
    namesKnown:
      known !== undefined &&
      (envelope.originalRequestId === known.requestId ||
        (envelope.generation.requestId === known.requestId && envelope.generation.generation === known.generation)),
    namesCurrent:
      phase !== "idle" &&
      activation.currentRun !== undefined &&
      envelope.originalRequestId === activation.currentRun.row.requestId,
    duplicate:
      activation.seenKeys.has(inboxKey(action, activation.conversationId)) ||
      (phase === "idle" && (await isKnown(activation, action))),
  };
}

function isOverdue(activation: Activation): boolean {
  const { currentRun: run, context, deps } = activation;
  return run !== undefined && !run.attached && context.parkDeadline > 0 && context.parkDeadline <= deps.clock.now();
}

/** Whose stream an action came on; a request on a stream of its own can name the Run that waits. */
async function meantRun(activation: Activation, envelope: CommandEnvelope): Promise<RunId | undefined> {
  const { generation, message, originalRequestId } = envelope;
  if (message.kind === "action")
    return activation.streams.get(generation.streamId)?.runId ?? (await runOf(activation, generation))?.runId;
  const waiting = activation.waitingRun?.row;
  const named =
    waiting !== undefined &&
    (waiting.requestId === originalRequestId || waiting.wireRunIds.some((id) => id === message.request.wireRunId));
  return named ? waiting.runId : undefined;
}

/** A history that this server does not have may end in calls without a result: the client wants them gone on with. */
function bringsOpenCalls({ history }: Activation, { message }: CommandEnvelope): boolean {
  const read = message.kind === "run" ? readState(message.request.state) : undefined;
  if (!read?.ok || read.outline.pending.length === 0) return false;
  return relate(read.outline, history.chain, history.view.head).kind === "foreign";
}

/** A completion that is in the history already; at-least-once delivery repeats it (case LC-13, wire section 9). */
async function isKnown(activation: Activation, action: Action): Promise<boolean> {
  if (action.kind !== "backgroundCompletion") return false;
  await activation.loadHistory();
  const { chain, view } = activation.history;
  return action.completions.every((completion) => branchHas(chain, view.head, completionId(completion)));
}

function isNew(activation: Activation): boolean {
  return activation.stored.created && activation.runs.size === 0;
}

function newestEnded({ lastRun, stored }: Activation): RunRow | undefined {
  return lastRun?.row ?? stored.runs.findLast((row) => row.endedAt !== undefined);
}
