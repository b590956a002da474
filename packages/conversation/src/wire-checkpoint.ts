import type { BlobId, CheckpointId } from "@chartroom/domain";

/** What an activation knows of the client's checkpoint: the newest state of the branch, and which blobs the client lacks. */
export class WireCheckpoint {
  /** Serialized `ConversationStateStructure` that the next one goes on from. */
  state: Uint8Array | undefined;
  /** The head that `state` stands for. */
  head: CheckpointId | undefined;
  /** Blobs at hand: of the client, of new messages, of the last turn. */
  readonly blobs = new Map<BlobId, Uint8Array>();
  /** Blobs that the client is known to hold. */
  readonly held = new Set<BlobId>();
  /** Blobs that a published state needs and the client has not acknowledged. */
  readonly lacking = new Map<BlobId, Uint8Array>();
  /** Publications in their order. */
  tail: Promise<unknown> = Promise.resolve();

  /** The client holds this blob: it sent it, named it or acknowledged it. */
  hold(id: BlobId): void {
    this.held.add(id);
    this.lacking.delete(id);
  }
}
