import { haltStep } from "../steps/settle-step.ts";
import type { PortCall } from "./port.ts";

/** Before the inbox joins: nothing runs any more. What is written of it is for the commit that follows, which waits for the store. */
export async function stopWork({ activation, run, send }: PortCall): Promise<void> {
  await haltStep(activation, run, "user-message");
  send({ type: "work.stopped", runId: run.row.runId });
}
