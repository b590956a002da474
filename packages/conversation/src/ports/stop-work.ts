import { pendingRows, stopStep } from "../settle-step.ts";
import type { PortCall } from "./port.ts";

/** Before the inbox joins: nothing runs any more, shown text is kept, aborted calls have their result. */
export async function stopWork({ activation, run, send }: PortCall): Promise<void> {
  await stopStep(activation, run, "user-message");
  if (run.pending && !(await activation.commit(() => pendingRows(activation, run)))) return;
  send({ type: "work.stopped", runId: run.row.runId });
}
