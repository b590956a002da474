import { ClientAccess } from "../client-access.ts";
import { joinInbox } from "../inbox.ts";
import type { PortCall } from "./port.ts";

/** Commits the rows that join this Run, in order, then tells the client. */
export async function appendInbox({ activation, run, step, signal, send }: PortCall): Promise<void> {
  const joined = joinInbox(activation, run, step);
  const access = new ClientAccess(activation, run, signal);
  // without a transport nobody is waited for: what joins is committed
  await joined.fetch({ get: (id) => access.getNow(id) });
  if (!(await activation.commit(joined.barrier))) return;
  joined.announce();
  send({ type: "interrupt.settled", runId: run.row.runId, joins: activation.inbox.length });
}
