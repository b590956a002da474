import { appendStep } from "@chartroom/history";
import type { ToolCallRow } from "@chartroom/domain";
import { openBoard } from "../steps/open-board.ts";
import { encodeHead, publishCheckpoint } from "../streams/checkpoint-publisher.ts";
import { modelRows } from "../history/model-rows.ts";
import type { PortCall } from "./port.ts";

/** Barrier: the assistant message and its calls are in the store before any call goes out. */
export async function recordStep({ activation, run, step, send }: PortCall): Promise<void> {
  const { pending } = run;
  if (!pending) throw new Error("no model pass to record");
  const { clock, settings } = activation.deps;
  const deadline = clock.now() + settings.callMs;
  const rows: readonly ToolCallRow[] = pending.record.calls.map((record) => ({
    callId: record.id,
    runId: run.row.runId,
    step,
    modelCallId: pending.modelCallId,
    providerId: record.providerId,
    record,
    status: "open",
    deadline,
  }));
  const done = await activation.commit(() => ({
    ...(pending.stands
      ? {}
      : activation.history.append(appendStep(activation.history.place(run.row.runId), pending.record))),
    callsOpened: rows,
    ...modelRows(run),
    runsChanged: [{ runId: run.row.runId, partial: null }],
  }));
  if (!done) return;
  run.pending = undefined;
  run.stepStartedAt = clock.now();
  run.cards.clear();
  run.board = openBoard(activation, run, rows);
  activation.beside("checkpoint", publishRound(activation, run));
  send({ type: "step.recorded", runId: run.row.runId, open: run.board.open, callDeadline: run.board.deadline });
}

/** A resume point that holds the pending calls; beside the work. */
async function publishRound(activation: PortCall["activation"], run: PortCall["run"]): Promise<void> {
  const head = await encodeHead(activation, run);
  if (await activation.commit(() => head)) await publishCheckpoint(activation, run);
}
