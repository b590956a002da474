import { randomBytes } from "node:crypto";
import type { ConversationStore, NodeId } from "@chartroom/domain";
import { connect, openStore } from "@chartroom/store";
import { systemClock } from "../support/clock.ts";

/** A way to get nodes that share one truth; the contract suite of the store runs against it. */
export interface StoreAdapter {
  /** A further node, alive until it is told otherwise. */
  node(): Promise<StoreNode>;
  close(): Promise<void>;
}

export interface StoreNode {
  readonly id: NodeId;
  readonly store: ConversationStore;
  /** Its lease has ended, though the process still runs: as after a freeze. */
  expire(): Promise<void>;
}

/** Nodes on one Postgres. Their leases are rows that the test writes, so that no test has to wait for time to pass. */
export function postgresAdapter(url: string): StoreAdapter {
  const sql = connect(url);
  const opened: { close(): Promise<void> }[] = [];
  const lease = async (id: NodeId, seconds: number): Promise<void> => {
    await sql`insert into node (id, lease_until) values (${id}, now() + ${seconds}::int * interval '1 second')
      on conflict (id) do update set lease_until = excluded.lease_until`;
  };
  return {
    async node() {
      const id = `node-${randomBytes(6).toString("hex")}` as NodeId;
      const node = openStore({ url, nodeId: id, clock: systemClock, connections: 3 });
      opened.push(node);
      await lease(id, 3600);
      return { id, store: node.store, expire: () => lease(id, -1) };
    },
    async close() {
      for (const node of opened) await node.close();
      await sql.end();
    },
  };
}
