import type { Generation, RunRow } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";

/** The newest Run that a generation opened or claimed; asks the store where memory does not know it. */
export async function runOf(
  activation: Activation,
  { requestId, generation }: Pick<Generation, "requestId" | "generation">,
): Promise<RunRow | undefined> {
  const live = [...activation.runs.values()].findLast(
    ({ row }) => row.requestId === requestId && row.generation === generation,
  );
  return live?.row ?? activation.deps.store.run(activation.lease, { requestId, generation });
}
