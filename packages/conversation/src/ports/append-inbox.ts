import { ClientAccess } from "../streams/client-access.ts";
import { joinInbox } from "../commands/inbox.ts";
import { pendingRows, settleStep } from "../steps/settle-step.ts";
import type { PortCall } from "./port.ts";

/** Commits what the Step that was stopped leaves: shown text, results of aborted calls; then the rows that join, in order, and tells the client. */
export async function appendInbox({ activation, run, step, signal, send }: PortCall): Promise<void> {
  await settleStep(activation, run, "user-message");
  if (run.pending && !(await activation.commit(() => pendingRows(activation, run)))) return;
  const joined = joinInbox(activation, run, step);
  const access = new ClientAccess(activation, run, signal);
  // without a transport nobody is waited for: what joins is committed
  await joined.fetch({ get: (id) => access.getNow(id) });
  if (!(await activation.commit(joined.barrier))) return;
  joined.announce();
  send({ type: "interrupt.settled", runId: run.row.runId, joins: activation.joins });
}
