import type { Clock, ConversationStore, NodeId, NodeLease } from "@chartroom/domain";
import { conversationStore } from "./conversation-store.ts";
import { Database } from "./database.ts";
import { StoreError } from "./failure.ts";
import { nodeLease } from "./lease.ts";

export interface StoreOptions {
  /** `postgres://…`; a folder of Unix sockets as `?host=/folder`. The schema must be up to date (`migrate`). */
  readonly url: string;
  /** Unique per start of a process. */
  readonly nodeId: NodeId;
  readonly clock: Clock;
  /** Connections at most, besides the one of the lease; default 4: each of them plans each statement once. */
  readonly connections?: number;
  /** Bound of one attempt to use the database, in ms; default 5,000. */
  readonly attemptMs?: number;
  /** Between two renewals of the node's lease, in ms; default 2,000. */
  readonly renewMs?: number;
  /** How long a renewal holds, in ms; default 6,000. */
  readonly leaseMs?: number;
  /**
   * No other node can use this database (its folder is this process's): what a node that was killed held is free when the
   * lease starts, not only when its own would have ended. Default false.
   */
  readonly alone?: boolean;
}

export interface Store {
  readonly store: ConversationStore;
  /** Not started yet: until it is, any other node may take what this one activates. */
  readonly nodeLease: NodeLease;
  /** Whether the database answers now. */
  ready(): Promise<boolean>;
  /** Ends all connections; running calls get at most 5 s. Stop the lease first. */
  close(): Promise<void>;
}

/** Opens the store of one node. Nothing is sent before the first call. */
export function openStore(options: StoreOptions): Store {
  const { url, nodeId, clock } = options;
  const attemptMs = options.attemptMs ?? 5000;
  const renewMs = options.renewMs ?? 2000;
  const validMs = options.leaseMs ?? 6000;
  const common = { url, clock };
  const database = new Database({ ...common, attemptMs, max: options.connections ?? 4, name: `chartroom ${nodeId}` });
  // of its own, so that no load on the other connections can cost the node its lease; and with a shorter bound, so that several attempts fit in
  const leaseDatabase = new Database({
    ...common,
    attemptMs: Math.min(attemptMs, renewMs / 2),
    max: 1,
    name: `chartroom lease ${nodeId}`,
  });
  return {
    store: conversationStore(database, nodeId, clock, attemptMs),
    nodeLease: nodeLease(leaseDatabase, nodeId, clock, { renewMs, validMs, alone: options.alone ?? false }),
    async ready() {
      try {
        await database.attempt((sql) => sql`select 1`);
        return true;
      } catch (error) {
        if (error instanceof StoreError) return false;
        throw error;
      }
    },
    async close() {
      await Promise.all([database.close(), leaseDatabase.close()]);
    },
  };
}
