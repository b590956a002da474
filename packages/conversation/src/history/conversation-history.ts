import type {
  Barrier,
  CanonicalMessage,
  CheckpointNode,
  ConversationStore,
  InputAnchor,
  Lease,
} from "@chartroom/domain";
import {
  chainOf,
  dropState,
  EMPTY_VIEW,
  extendChain,
  extendView,
  headView,
  pathTo,
  type Appended,
  type Chain,
  type HeadView,
  type Place,
} from "@chartroom/history";
import type { RunId, CheckpointId } from "@chartroom/domain";

/** Wire states that stay in memory: each is as long as the conversation, and a client stands at one of the newest. */
const STATES_KEPT = 16;

/** The history of one activation: the chain and the view of its head, kept in step with what is committed. */
export class ConversationHistory {
  chain: Chain = chainOf([], []);
  view: HeadView = EMPTY_VIEW;
  /** Done or under way; all who ask meanwhile wait for the same. */
  #loading: Promise<void> | undefined;
  /** Nodes that were made here, of which no wire state has been made yet. */
  readonly #fresh = new Set<CheckpointId>();
  /** Nodes whose wire state is in the chain, oldest first. */
  #states: CheckpointId[] = [];

  /** Reads the branch of `head` from the store, once per activation. */
  load(store: ConversationStore, lease: Lease, head: CheckpointId | undefined): Promise<void> {
    return (this.#loading ??= this.#read(store, lease, head).catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    }));
  }

  async #read(store: ConversationStore, lease: Lease, head: CheckpointId | undefined): Promise<void> {
    if (head === undefined) return;
    const [nodes, anchors, rows] = await Promise.all([
      store.checkpoints(lease),
      store.anchors(lease),
      store.messages(lease, head),
    ]);
    this.chain = chainOf(nodes, anchors);
    const result = headView(this.chain, head, rows);
    if (!result.ok) throw new Error(`the chain names ${result.missing.length} messages that the store does not hold`);
    this.view = result.view;
    await this.#loadStates(store, lease, head);
  }

  /** The states by which a client that comes back is recognised: the newest that it was given, and the head's. */
  async #loadStates(store: ConversationStore, lease: Lease, head: CheckpointId): Promise<void> {
    const given = pathTo(this.chain, head).findLast((node) => node.delivered)?.id;
    for (const id of new Set([given, head])) {
      const state = id && (await store.checkpoint(lease, id))?.wireState;
      if (id && state) this.keepState(id, state);
    }
  }

  /** Reads another branch, of the same chain. */
  async moveTo(store: ConversationStore, lease: Lease, head: CheckpointId | undefined): Promise<void> {
    if (head === this.view.head) return;
    if (head === undefined) {
      this.view = EMPTY_VIEW;
      return;
    }
    const result = headView(this.chain, head, await store.messages(lease, head));
    if (!result.ok) throw new Error(`the chain names ${result.missing.length} messages that the store does not hold`);
    this.view = result.view;
  }

  place(runId: RunId): Place {
    return { chain: this.chain, view: this.view, runId };
  }

  /** Moves the head over a node and gives the rows for the barrier that commits it. */
  extend(node: CheckpointNode, messages: readonly CanonicalMessage[], anchors: readonly InputAnchor[] = []): Barrier {
    this.chain = extendChain(this.chain, [node], anchors);
    this.view = extendView(this.view, node, messages);
    this.#fresh.add(node.id);
    return { head: node.id, messages, checkpoints: [node], ...(anchors.length > 0 ? { anchors } : {}) };
  }

  append(appended: Appended): Barrier {
    return appended.node ? this.extend(appended.node, appended.messages) : {};
  }

  /** The client has this checkpoint. */
  markDelivered(id: CheckpointId): void {
    const node = this.chain.nodes.get(id);
    if (node) this.chain = extendChain(this.chain, [{ ...node, delivered: true }]);
  }

  /** What was made of a node for the client, now or earlier: it is made once. */
  async stateOf(store: ConversationStore, lease: Lease, id: CheckpointId): Promise<Uint8Array | undefined> {
    const made = this.chain.nodes.get(id)?.wireState;
    if (made || this.#fresh.has(id)) return made;
    return (await store.checkpoint(lease, id))?.wireState;
  }

  /** What was made of a node for the client: by it a state that comes back is recognised. */
  keepState(id: CheckpointId, wireState: Uint8Array): void {
    const node = this.chain.nodes.get(id);
    if (!node) return;
    this.chain = extendChain(this.chain, [{ ...node, wireState }]);
    this.#fresh.delete(id);
    this.#states = [...this.#states.filter((other) => other !== id), id];
    const tooMany = Math.max(0, this.#states.length - STATES_KEPT);
    for (const old of this.#states.splice(0, tooMany)) dropState(this.chain, old);
  }
}
