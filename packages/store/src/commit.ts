import type { Barrier, CommitResult, Lease, NodeId } from "@chartroom/domain";
import { foldBarrier, type FoldedBarrier } from "./barrier.ts";
import type { Sql } from "./connection.ts";
import { HISTORY } from "./parts/history.ts";
import { INBOX } from "./parts/inbox.ts";
import { type Sentence, storable } from "./parts/part.ts";
import { RUNS } from "./parts/runs.ts";

const PARTS = [...HISTORY, ...RUNS, ...INBOX];

/**
 * Writes a barrier: one statement, so one round trip and one transaction. Its first part updates the conversation's row with
 * the fence and the node; every other part takes its rows from a join with what that gave, so without the fence nothing is
 * written. `writeSeq` must rise with every attempt of this process.
 */
export async function commit(
  sql: Sql,
  node: NodeId,
  lease: Lease,
  barrier: Barrier,
  writeSeq: number,
): Promise<CommitResult> {
  const folded = foldBarrier(barrier);
  const put = folded.inboxPut.length > 0;
  const parts = PARTS.flatMap((part) => part(sql, folded) ?? []);
  const rows = await sql<{ base: number; key?: string | null; seq?: number | null }[]>`
    with mine as (${own(sql, node, lease, folded, writeSeq)})
    ${parts.length > 0 ? parts : sql``}
    select mine.base ${put ? sql`, put.key, put.seq from mine left join put on true` : sql`from mine`}`;
  if (rows.length === 0) return { kind: "fenced" };
  return { kind: "committed", inbox: put ? answers(barrier, folded, rows) : [] };
}

/** The lock, the fence, and what belongs to the conversation's own row. */
function own(sql: Sql, node: NodeId, lease: Lease, barrier: FoldedBarrier, writeSeq: number): Sentence {
  const { chart, head } = barrier;
  return sql`
    update conversation set write_seq = ${writeSeq}, inbox_seq = inbox_seq + ${barrier.inboxPut.length}
    ${
      chart === undefined
        ? sql``
        : sql`, machine = ${chart.machine}, version = ${chart.version}, deadline = ${barrier.deadline},
            state = ${JSON.stringify({ value: chart.value, context: chart.context }, storable)}::text::jsonb`
    }
    ${head === undefined ? sql`` : sql`, head = ${head}`}
    ${barrier.unawaited ? sql`from set_config('synchronous_commit', 'off', true)` : sql``}
    where id = ${lease.conversationId} and fence = ${lease.fence} and owner_node = ${node} and write_seq < ${writeSeq}
    returning id, owner_member, inbox_seq - ${barrier.inboxPut.length} as base`;
}

/** One answer per entry of the barrier, in its order. */
function answers(
  barrier: Barrier,
  folded: FoldedBarrier,
  rows: readonly { base: number; key?: string | null; seq?: number | null }[],
): { readonly key: string; readonly seq: number; readonly duplicate: boolean }[] {
  const base = rows[0]!.base;
  const stored = new Map(rows.map((row) => [row.key, row.seq]));
  const offered = new Map(folded.inboxPut.map(({ key }, n) => [key, base + n + 1]));
  return (barrier.inboxPut ?? []).map(({ key }) => {
    const seq = stored.get(key)!;
    const duplicate = seq !== offered.get(key);
    // a second entry with the same key in the same barrier is a repeat of the first
    offered.delete(key);
    return { key, seq, duplicate };
  });
}
