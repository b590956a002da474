import { publishCheckpoint as publish } from "../streams/checkpoint-publisher.ts";
import type { PortCall } from "./port.ts";

/** The final checkpoint: its missing blobs, their acknowledgements, then the update itself. */
export async function publishCheckpoint({ activation, run, send }: PortCall): Promise<void> {
  const delivered = await publish(activation, run);
  send({ type: "checkpoint.published", runId: run.row.runId, delivered });
}
