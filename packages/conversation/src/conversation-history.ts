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
  EMPTY_VIEW,
  extendChain,
  extendView,
  headView,
  type Appended,
  type Chain,
  type HeadView,
  type Place,
} from "@chartroom/history";
import type { RunId, CheckpointId } from "@chartroom/domain";

/** The history of one activation: the chain and the view of its head, kept in step with what is committed. */
export class ConversationHistory {
  chain: Chain = chainOf([], []);
  view: HeadView = EMPTY_VIEW;
  #loaded = false;

  /** Reads the branch of `head` from the store, once per activation. */
  async load(store: ConversationStore, lease: Lease, head: CheckpointId | undefined): Promise<void> {
    if (this.#loaded) return;
    if (head !== undefined) {
      const [nodes, anchors, rows] = await Promise.all([
        store.checkpoints(lease),
        store.anchors(lease),
        store.messages(lease, head),
      ]);
      this.chain = chainOf(nodes, anchors);
      const result = headView(this.chain, head, rows);
      if (!result.ok) throw new Error(`the chain names ${result.missing.length} messages that the store does not hold`);
      this.view = result.view;
    }
    this.#loaded = true;
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
    return { head: node.id, messages, checkpoints: [node], ...(anchors.length > 0 ? { anchors } : {}) };
  }

  append(appended: Appended): Barrier {
    return appended.node ? this.extend(appended.node, appended.messages) : {};
  }

  /** The client has this checkpoint. */
  markDelivered(id: CheckpointId): void {
    const node = this.chain.nodes.get(id);
    if (node) this.chain = { ...this.chain, nodes: new Map(this.chain.nodes).set(id, { ...node, delivered: true }) };
  }

  /** Gives the memory back; the next Run loads again. */
  forget(): void {
    this.chain = chainOf([], []);
    this.view = EMPTY_VIEW;
    this.#loaded = false;
  }
}
