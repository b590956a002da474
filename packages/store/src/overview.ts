import type { ConversationId, ConversationView, MemberId } from "@chartroom/domain";
import type { Sql } from "./connection.ts";
import { toChart, toLifecycleEvent, toModelCall, toParent, toRun } from "./rows.ts";
import type { conversation, lifecycleEvent, modelCall, run, trace } from "./schema/index.ts";

export interface Overdue {
  readonly conversationId: ConversationId;
  readonly member: MemberId;
}

/** Conversations without a living owner whose deadline, or that of a Run of theirs without a transport, has passed; the longest overdue first. */
export async function overdue(sql: Sql, nowMs: number, limit: number): Promise<readonly Overdue[]> {
  const rows = await sql<Overdue[]>`
    select c.id as conversation_id, c.owner_member as member
    from (
      select id, min(deadline) as deadline from (
        select id, deadline from conversation where deadline <= ${nowMs}::bigint
        union all
        select conversation_id, park_deadline from run
        where park_deadline <= ${nowMs}::bigint and status in ('waiting', 'running')) passed
      group by id) late
    join conversation c on c.id = late.id
    where c.owner_node is null
      or not exists (select from node n where n.id = c.owner_node and n.lease_until > now())
    order by late.deadline limit ${limit}`;
  return rows.map((row) => ({ ...row }));
}

/**
 * All that `show`, `replay` and `doctor` need of one conversation, read without ownership: its parts are of one moment, though
 * its owner goes on writing.
 */
export async function inspect(sql: Sql, conversationId: ConversationId): Promise<ConversationView | undefined> {
  const [[row], runs, calls, traces, journal, [count]] = await sql.begin(
    "isolation level repeatable read read only",
    (at) =>
      Promise.all([
        at<(typeof conversation.$inferSelect)[]>`select * from conversation where id = ${conversationId}`,
        // in two parts, since each has an index
        at<(typeof run.$inferSelect)[]>`
        select * from run where conversation_id = ${conversationId} and status in ('waiting', 'running')
        union all
        select * from run where conversation_id = ${conversationId} and status not in ('waiting', 'running')
        order by seq`,
        at<(typeof modelCall.$inferSelect)[]>`
        select * from model_call where conversation_id = ${conversationId} order by seq`,
        at<(typeof trace.$inferSelect)[]>`
        select * from trace where conversation_id = ${conversationId}
          and trace_id in (select trace_id from run where conversation_id = ${conversationId}) order by trace_id`,
        at<(typeof lifecycleEvent.$inferSelect)[]>`
        select * from lifecycle_event where conversation_id = ${conversationId} order by fence, seq`,
        at<{ messages: number }[]>`select count(*) as messages from message where conversation_id = ${conversationId}`,
      ]),
  );
  if (row === undefined) return undefined;
  return {
    conversationId,
    member: row.ownerMember,
    chart: toChart(row),
    head: row.head ?? undefined,
    owner: row.ownerNode ?? undefined,
    fence: row.fence,
    parent: toParent(row),
    runs: runs.map(toRun),
    modelCalls: calls.map(toModelCall),
    traces: traces.map(({ traceId, runId, attributes }) => ({ traceId, runId, attributes })),
    journal: journal.map(toLifecycleEvent),
    messages: count!.messages,
  };
}
