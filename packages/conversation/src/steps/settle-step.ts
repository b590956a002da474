import { appendResults, appendStep, interruptedResult, openCalls } from "@chartroom/history";
import type { Barrier, InterruptReason, RunRow } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { modelRows } from "../history/model-rows.ts";

/**
 * Stops what a Step has in flight, whether the store is there or not: open execs are aborted on the wire first, then partial
 * cards are closed as failed and open calls as interrupted. The model pass itself stays in `run.pending`.
 */
export async function haltStep(activation: Activation, run: LiveRun, reason: InterruptReason): Promise<void> {
  run.board?.interruptAll(reason);
  await run.work;
  for (const card of run.cards.values())
    for (const frame of card.abandoned(reason)) activation.append(run, "update", frame);
  run.cards.clear();
}

/** After `haltStep`: each result of the Step that was stopped is in the store. */
export async function settleStep(activation: Activation, run: LiveRun, reason: InterruptReason): Promise<void> {
  await run.board?.flushed();
  run.board?.dispose();
  run.board = undefined;
  await closeStored(activation, run, reason);
}

/** Calls that are open without a board: those of a restored Run that no client came back for, or of a state that was brought. */
async function closeStored(activation: Activation, run: LiveRun, reason: InterruptReason): Promise<void> {
  if (!run.restored && !run.opened) return;
  await activation.loadHistory();
  const open = openCalls(activation.history.view.messages);
  if (open.length === 0) return;
  const results = open.map((call) => interruptedResult(call, reason));
  await activation.commit(() => ({
    ...activation.history.append(appendResults(activation.history.place(run.row.runId), results)),
    callsSettled: results.map((result) => ({ callId: result.callId, result })),
  }));
}

/** The rows of the pass that ended or was stopped: shown text stays; a call that was not committed was not made. */
export function pendingRows(activation: Activation, run: LiveRun): Barrier {
  const { pending } = run;
  if (!pending || pending.stands) {
    run.pending = undefined;
    return { ...modelRows(run), runsChanged: [{ runId: run.row.runId, partial: null }] };
  }
  run.pending = undefined;
  const { record } = pending;
  const kept = record.calls.length > 0 ? { ...record, calls: [], partial: true } : record;
  const rows =
    kept.blocks.length > 0 ? activation.history.append(appendStep(activation.history.place(run.row.runId), kept)) : {};
  return { ...rows, ...modelRows(run), runsChanged: [{ runId: run.row.runId, partial: null }] };
}

/** After a restart: what the killed Step had shown becomes a partial message, once. */
export async function keepPartialOf(activation: Activation, run: LiveRun): Promise<void> {
  const { partial, runId } = run.row;
  if (!partial) return;
  await activation.loadHistory();
  await activation.commit(() => ({
    ...partialRows(activation, run.row),
    runsChanged: [{ runId, partial: null }],
  }));
  run.row = { ...run.row, partial: null };
}

/** What a Step had shown that nobody ends any more, as a partial message. */
export function partialRows({ history }: Activation, { runId, partial }: RunRow): Barrier {
  return partial ? history.append(appendStep(history.place(runId), { ...partial, calls: [], partial: true })) : {};
}
