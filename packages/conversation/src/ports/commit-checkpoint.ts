import type { InterruptReason, OutcomeKind } from "@chartroom/domain";
import { encodeHead } from "../streams/checkpoint-publisher.ts";
import { mergeBarriers } from "../activation/merge-barriers.ts";
import { keepOpening, keepRequest } from "../history/kept.ts";
import { haltStep, pendingRows, settleStep } from "../steps/settle-step.ts";
import type { PortCall } from "./port.ts";

const reasons: Readonly<Record<OutcomeKind, InterruptReason>> = {
  completed: "failed",
  cancelled: "cancelled",
  failed: "failed",
  superseded: "superseded",
};

/** The Run's last rows: nothing runs any more, what was shown is kept, and the head's wire checkpoint is stored with its blobs. */
export async function commitCheckpoint({ activation, run, send }: PortCall): Promise<void> {
  const outcome = activation.context.outcome?.kind ?? "failed";
  const reason = activation.context.outcome?.code === "PARK_EXPIRED" ? "parked-expired" : reasons[outcome];
  await haltStep(activation, run, reason);
  await settleStep(activation, run, reason);
  const said = await keepRequest(activation, run);
  const opening = await keepOpening(activation, run);
  const rows = pendingRows(activation, run);
  const head = await encodeHead(activation, run);
  const done = await activation.commit(() =>
    mergeBarriers(said, opening, rows, head, run.accepted.settled ? {} : { runsOpened: [run.row] }),
  );
  if (!done) return;
  run.accepted.resolve(true);
  run.stopped.resolve(true);
  send({ type: "checkpoint.committed", runId: run.row.runId });
}
