import type { Barrier, Clock, CommitResult, ConversationStore, Lease, NodeId } from "@chartroom/domain";
import { activate, release } from "./activate.ts";
import { bind, binding, nextGeneration } from "./bindings.ts";
import { blobs, hasBlobs } from "./blobs.ts";
import { commit } from "./commit.ts";
import type { Sql } from "./connection.ts";
import type { Database } from "./database.ts";
import { StoreError } from "./failure.ts";
import { anchors, checkpointById, checkpoints, messages } from "./history.ts";
import { inspect, overdue } from "./overview.ts";
import { findRun, markedCalls, parentOf, toolCalls } from "./runs.ts";
import { Turnstile } from "./turnstile.ts";

/**
 * The store of one node on Postgres. `activate`, `commit` and `bind` say `unavailable`; the others throw `StoreError`, as all
 * do for what trying again cannot mend. Commits of one conversation are written one after the other, in the order of the calls.
 */
export function conversationStore(
  database: Database,
  node: NodeId,
  clock: Clock,
  attemptMs: number,
): ConversationStore {
  const turnstile = new Turnstile();
  let writeSeq = 0;
  const read = <T>(work: (sql: Sql) => Promise<T>): Promise<T> => database.attempt(work);

  const write = async (lease: Lease, barrier: Barrier): Promise<CommitResult> => {
    const called = clock.now();
    return turnstile.pass(lease.conversationId, async () => {
      // what waited behind a database that gives no answer does not ask it again
      if (clock.now() - called > attemptMs) return { kind: "unavailable" };
      return database.attempt((sql) => commit(sql, node, lease, barrier, ++writeSeq));
    });
  };

  return {
    activate: (conversationId, member, options) =>
      orUnavailable(activate(database, node, conversationId, member, options)),
    release: (lease) => turnstile.pass(lease.conversationId, () => release(database, node, lease)),
    commit: (lease, barrier) => orUnavailable(write(lease, barrier)),
    messages: (lease, head, after) => read((sql) => messages(sql, lease.conversationId, head, after)),
    checkpoints: (lease) => read((sql) => checkpoints(sql, lease.conversationId)),
    checkpoint: (lease, id) => read((sql) => checkpointById(sql, lease.conversationId, id)),
    anchors: (lease) => read((sql) => anchors(sql, lease.conversationId)),
    toolCalls: (lease, runId) => read((sql) => toolCalls(sql, lease.conversationId, runId)),
    markedCalls: (lease, limit) => read((sql) => markedCalls(sql, lease.conversationId, limit)),
    run: (lease, by) => read((sql) => findRun(sql, lease.conversationId, by)),
    blobs: (member, ids) => read((sql) => blobs(sql, member, ids)),
    hasBlobs: (member, ids) => read((sql) => hasBlobs(sql, member, ids)),
    bind: (member, requestId, conversationId) =>
      orUnavailable(
        read(async (sql) => {
          const generation = await bind(sql, member, requestId, conversationId);
          return generation === undefined ? { kind: "conflict" } : { kind: "bound", generation };
        }),
      ),
    nextGeneration: (member, requestId) => read((sql) => nextGeneration(sql, member, requestId)),
    binding: (member, requestId) => read((sql) => binding(sql, member, requestId)),
    parentOf: (member, requestId, callId) => read((sql) => parentOf(sql, member, requestId, callId)),
    overdue: (nowMs, limit) => read((sql) => overdue(sql, nowMs, limit)),
    inspect: (conversationId) => read((sql) => inspect(sql, conversationId)),
  };
}

async function orUnavailable<T>(result: Promise<T>): Promise<T | { readonly kind: "unavailable" }> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof StoreError && error.retryable) return { kind: "unavailable" };
    throw error;
  }
}
