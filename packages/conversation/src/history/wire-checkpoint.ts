import type { BlobId, CheckpointId } from "@chartroom/domain";

/** What an activation knows of the client's checkpoint: the newest state of the branch, and which blobs the client lacks. */
export class WireCheckpoint {
  /** Serialized `ConversationStateStructure` that the next one goes on from. */
  state: Uint8Array | undefined;
  /** The head that `state` stands for. */
  head: CheckpointId | undefined;
  /** Blobs at hand: the client's own, what the next checkpoint is made of, and what the client has not acknowledged. */
  readonly blobs = new Map<BlobId, Uint8Array>();
  /** Those of them that the store has too. */
  readonly #made = new Set<BlobId>();
  /** Blobs that the client is known to hold. */
  readonly held = new Set<BlobId>();
  /** Blobs that a published state needs and the client has not acknowledged; the store has those that are not at hand. */
  readonly lacking = new Set<BlobId>();
  /** The state that was published last: the client has acknowledged all that it names. */
  given: Uint8Array | undefined;
  /** Publications in their order. */
  tail: Promise<unknown> = Promise.resolve();

  /** Whether a client comes back with the state that it was given last. */
  isGiven(state: Uint8Array): boolean {
    const { given } = this;
    if (given?.length !== state.length) return false;
    for (let at = state.length - 1; at >= 0; at--) if (state[at] !== given[at]) return false;
    return true;
  }

  /** The client holds this blob: it sent it, named it or acknowledged it. */
  hold(id: BlobId): void {
    this.held.add(id);
    this.lacking.delete(id);
  }

  /** A blob of a state that was made here: the store has it, and the client must have it before the state. */
  make(id: BlobId, data: Uint8Array): void {
    this.blobs.set(id, data);
    this.#made.add(id);
    this.lack(id);
  }

  /** The client must have this blob before a state that names it. */
  lack(id: BlobId): void {
    if (!this.held.has(id)) this.lacking.add(id);
  }

  /** Lets go of the blobs that were made here, the client holds, and nothing is made of any more. */
  trim(needed: ReadonlySet<BlobId>): void {
    for (const id of this.#made) {
      if (needed.has(id) || this.lacking.has(id)) continue;
      this.blobs.delete(id);
      this.#made.delete(id);
    }
  }
}
