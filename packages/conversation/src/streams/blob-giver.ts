import { setImmediate } from "node:timers/promises";
import { readState, referencedBlobs } from "@chartroom/history";
import type { BlobId } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { ClientStream } from "./client-stream.ts";

/** Blobs that are read from the store at once. */
const BATCH = 128;
/** So many bytes are written without looking at what else there is to do. */
const SLICE = 256 * 1024;

/** `unread`: the store did not give them, or not in time. */
export type Given = "given" | "unacknowledged" | "unread";

/**
 * Writes the blobs that the client lacks, each at most once per stream, as fast as its transport takes them and behind all
 * else that waits for it; the bound is for all of it. Writing goes on behind it, and later acknowledgements count for the next
 * time.
 */
export async function giveBlobs(activation: Activation, stream: ClientStream): Promise<Given> {
  const { clock, settings } = activation.deps;
  const reading = { now: false };
  const given = writeLacking(activation, stream, reading).then(
    (all): Given => (all ? "given" : "unacknowledged"),
    (): Given => "unread",
  );
  const { promise: late, resolve } = Promise.withResolvers<Given>();
  const timer = clock.setTimeout(() => resolve(reading.now ? "unread" : "unacknowledged"), settings.ackMs);
  const end = await Promise.race([given, late]);
  clock.clearTimeout(timer);
  return end;
}

/** `reading.now`: it waits for the store. */
async function writeLacking(activation: Activation, stream: ClientStream, reading: { now: boolean }): Promise<boolean> {
  const { wire, deps } = activation;
  const wanted = [...wire.lacking];
  const taken: Promise<boolean>[] = [];
  let written = 0;
  for (let at = 0; at < wanted.length; at += BATCH) {
    const batch = wanted.slice(at, at + BATCH);
    reading.now = true;
    const data = await dataOf(
      activation,
      batch.filter((id) => stream.acknowledgement(id) === undefined),
    );
    reading.now = false;
    for (const id of batch) {
      const blob = data.get(id);
      if (blob === undefined) {
        const sent = stream.acknowledgement(id);
        if (sent) taken.push(sent);
        // nobody has it: a state cannot wait for it
        else wire.lacking.delete(id);
        continue;
      }
      if (!(await stream.writable())) return false;
      const writtenAt = deps.clock.now();
      taken.push(
        stream.setBlob(id, blob, deps.codec).then((acknowledged) => {
          if (!acknowledged) return false;
          stream.roundTrip(deps.clock.now() - writtenAt);
          wire.hold(id);
          return true;
        }),
      );
      written += blob.byteLength;
      if (written < SLICE) continue;
      written = 0;
      await setImmediate();
    }
  }
  return (await Promise.all(taken)).every(Boolean);
}

/** Blobs at hand, the others from the store. */
async function dataOf(
  { wire, deps, member }: Activation,
  ids: readonly BlobId[],
): Promise<ReadonlyMap<BlobId, Uint8Array>> {
  const unread = ids.filter((id) => !wire.blobs.has(id));
  const found = new Map(unread.length > 0 ? await deps.store.blobs(member, unread) : []);
  for (const id of ids) {
    const data = wire.blobs.get(id);
    if (data) found.set(id, data);
  }
  return found;
}

/** The first state of an activation: all that it names and the client is not known to hold, what its turns name included. */
export async function lackAll(activation: Activation, state: Uint8Array): Promise<void> {
  const { wire } = activation;
  const read = readState(state);
  if (!read.ok) return;
  // a client that holds a turn has what it names
  const turns = await dataOf(
    activation,
    read.outline.turns.filter((id) => !wire.held.has(id)),
  );
  for (const id of referencedBlobs(read.outline, (turn) => turns.get(turn))) wire.lack(id);
}
