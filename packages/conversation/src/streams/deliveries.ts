import type { CheckpointId } from "@chartroom/domain";

/** A longer way than this is no way: an acknowledgement that takes so long waits for something else (ms). */
const LONGEST_WAY_MS = 2_000;
/** What the programs at both ends take of an acknowledgement's time: on a link that is shorter nothing is taken for crossed (ms). */
const NO_WAY_MS = 25;

/**
 * The checkpoints that were delivered in one activation, in their order. A client that speaks within a round trip of one may
 * have spoken before it came: what it said without that checkpoint is no wish to go back behind it.
 */
export class Deliveries {
  readonly #heads: CheckpointId[] = [];
  /** For each, the moment from which on whatever comes from the client was said after it had come (epoch ms). */
  readonly #known: number[] = [];

  /** `roundTripMs`: the shortest that this client's stream has shown; 0 where it has shown none. */
  add(head: CheckpointId, now: number, roundTripMs: number): void {
    this.#heads.push(head);
    this.#known.push(now + Math.max(0, Math.min(roundTripMs, LONGEST_WAY_MS) - NO_WAY_MS));
  }

  /** How many of them a client knows that is heard now. */
  heardAt(now: number): number {
    return this.#known.findLastIndex((from) => from <= now) + 1;
  }

  /** Those that a client did not know which was heard when it knew so many. */
  since(count: number): ReadonlySet<CheckpointId> {
    return new Set(this.#heads.slice(count));
  }
}
