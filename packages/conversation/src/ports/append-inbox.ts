import type { PortCall } from "./port.ts";
import { joinInbox } from "../inbox.ts";

/** Commits the rows that join this Run, in order, then tells the client. */
export async function appendInbox({ activation, run, step, send }: PortCall): Promise<void> {
  const joined = joinInbox(activation, run, step);
  if (!(await activation.commit(joined.barrier))) return;
  joined.announce();
  send({ type: "interrupt.settled", runId: run.row.runId, joins: activation.inbox.length });
}
