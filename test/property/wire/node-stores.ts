import { randomBytes } from "node:crypto";
import type { NodeId } from "@chartroom/domain";
import { openStore, type Store } from "@chartroom/store";
import { systemClock } from "../../support/clock.ts";

/** A node's store, and the name of the node. */
export interface NodeStore extends Store {
  readonly nodeId: NodeId;
}

/**
 * The stores of nodes on one database, kept open from one schedule to the next: a new connection plans every statement anew,
 * and that is most of what a short schedule costs. Within a schedule a store is given out once.
 */
export class NodeStores {
  readonly #url: string;
  readonly #idle: NodeStore[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  /** A store whose lease runs. */
  async take(): Promise<NodeStore> {
    const store = this.#idle.pop() ?? this.#open();
    await store.nodeLease.start();
    return store;
  }

  /** Takes back what the schedule is done with. */
  async giveBack(stores: readonly NodeStore[]): Promise<void> {
    for (const store of stores) await store.nodeLease.stop();
    this.#idle.push(...stores);
  }

  async close(): Promise<void> {
    for (const store of this.#idle.splice(0)) await store.close();
  }

  #open(): NodeStore {
    const nodeId = `node-${randomBytes(6).toString("hex")}` as NodeId;
    return { ...openStore({ url: this.#url, nodeId, clock: systemClock, connections: 2 }), nodeId };
  }
}
