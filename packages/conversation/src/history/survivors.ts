import { type Outline, readState, stateSurvivors } from "@chartroom/history";
import type { Survivors } from "@chartroom/prompting";
import type { BlobId } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { newestState } from "../streams/checkpoint-publisher.ts";
import { ClientAccess } from "../streams/client-access.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** Goal, plan and to-dos as the client's state holds them; they outlive a summary word for word. What only the client has, it is asked for. */
export async function survivorsOf(activation: Activation, run: LiveRun, signal: AbortSignal): Promise<Survivors> {
  const { wire, deps, member } = activation;
  // a Run that came back from the store has brought no state yet
  const state = wire.state ?? newestState(activation) ?? run.request.state;
  const read = readState(state);
  if (!read.ok) return {};
  const known = new Map<BlobId, Uint8Array>();
  const missing = (outline: Outline): readonly BlobId[] => {
    const wanted = new Set<BlobId>();
    stateSurvivors(outline, (id) => wire.blobs.get(id) ?? known.get(id) ?? void wanted.add(id));
    return [...wanted];
  };
  for (const [id, data] of await deps.store.blobs(member, missing(read.outline))) known.set(id, data);
  if (run.attached?.attached) {
    const client = new ClientAccess(activation, run, signal);
    const asked = missing(read.outline).map(async (id) => [id, await client.getNow(id)] as const);
    for (const [id, data] of await Promise.all(asked)) if (data && deps.codec.blobId(data) === id) known.set(id, data);
  }
  return stateSurvivors(read.outline, (id) => wire.blobs.get(id) ?? known.get(id));
}
