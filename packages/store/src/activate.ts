import type {
  Activation,
  ActivationResult,
  ConversationId,
  Lease,
  MemberId,
  NodeId,
  ParentConversationRef,
} from "@chartroom/domain";
import type { Sql } from "./connection.ts";
import type { Database } from "./database.ts";
import { toChart, toInbox, toParent, toRun } from "./rows.ts";
import type { conversation, inbox, run } from "./schema/index.ts";

type ConversationRow = typeof conversation.$inferSelect;

export interface ActivateOptions {
  readonly create: boolean;
  readonly parent?: ParentConversationRef;
}

/** How often the reason of a refusal may be gone again before the caller is told to come back. */
const LOOKS = 3;

/**
 * Takes a conversation for this node. The taking is one statement, so that of two nodes one gets it; what it reads of other
 * tables is read after it, when no older owner can write any more.
 */
export async function activate(
  database: Database,
  node: NodeId,
  conversationId: ConversationId,
  member: MemberId,
  options: ActivateOptions,
): Promise<ActivationResult> {
  return database.attempt(async (sql) => {
    for (let look = 0; look < LOOKS; look++) {
      const [taken] = options.create
        ? await takeOrCreate(sql, node, conversationId, member, options.parent)
        : await take(sql, node, conversationId, member);
      if (taken !== undefined) {
        const lease: Lease = { conversationId, member, fence: taken.fence };
        return { kind: "active", activation: await complete(sql, lease, taken) };
      }
      const refusal = await whyNot(sql, node, conversationId, member);
      if (refusal !== undefined) return refusal;
    }
    return { kind: "unavailable" };
  });
}

/**
 * The two statements do not wait for the disk (`synchronous_commit` off for themselves alone). Should the database crash
 * before it has written them, the taking never was: nothing was answered on its strength, since every answer waits for a
 * commit, and a commit makes the disk hold all that came before it. That another node may then get the same number again is
 * why every write names its node beside its fence.
 */
function takeOrCreate(
  sql: Sql,
  node: NodeId,
  conversationId: ConversationId,
  member: MemberId,
  parent: ParentConversationRef | undefined,
): Promise<Taken[]> {
  return sql<Taken[]>`
    insert into conversation as c
      (id, owner_member, fence, owner_node, parent_conversation_id, parent_run_id, parent_tool_call_id)
    select ${conversationId}, ${member}, 1, ${node}, ${parent?.parentConversationId ?? null},
      ${parent?.parentRunId ?? null}, ${parent?.parentToolCallId ?? null}
    from set_config('synchronous_commit', 'off', true)
    on conflict (id) do update set fence = c.fence + 1, owner_node = excluded.owner_node, write_seq = 0
    where c.owner_member = excluded.owner_member and ${free(sql, node)}
    returning ${returned(sql)}`;
}

function take(sql: Sql, node: NodeId, conversationId: ConversationId, member: MemberId): Promise<Taken[]> {
  return sql<Taken[]>`
    update conversation c set fence = c.fence + 1, owner_node = ${node}, write_seq = 0
    from set_config('synchronous_commit', 'off', true)
    where c.id = ${conversationId} and c.owner_member = ${member} and ${free(sql, node)}
    returning ${returned(sql)}`;
}

type Taken = Pick<
  ConversationRow,
  "fence" | "machine" | "version" | "state" | "head" | "parentConversationId" | "parentRunId" | "parentToolCallId"
>;

function returned(sql: Sql) {
  return sql`c.fence, c.machine, c.version, c.state, c.head, c.parent_conversation_id, c.parent_run_id, c.parent_tool_call_id`;
}

/** Nobody's, this node's, or of a node whose lease has ended: a living owner is never robbed. */
function free(sql: Sql, node: NodeId) {
  return sql`(c.owner_node is null or c.owner_node = ${node}
    or not exists (select from node n where n.id = c.owner_node and n.lease_until > now()))`;
}

async function complete(sql: Sql, lease: Lease, taken: Taken): Promise<Activation> {
  const activation = {
    lease,
    chart: toChart(taken),
    head: taken.head ?? undefined,
    parent: toParent(taken),
  };
  // the first owner made it: there is nothing to read
  if (taken.fence === 1) return { ...activation, created: true, runs: [], inbox: [] };
  const id = lease.conversationId;
  const [open, last, waiting] = await Promise.all([
    sql<(typeof run.$inferSelect)[]>`
      select * from run where conversation_id = ${id} and status in ('waiting', 'running') order by seq`,
    sql<(typeof run.$inferSelect)[]>`
      select * from run where conversation_id = ${id} and status not in ('waiting', 'running')
      order by ended_at desc nulls last, seq desc nulls last limit 1`,
    sql<(typeof inbox.$inferSelect)[]>`
      select * from inbox where conversation_id = ${id} order by seq`,
  ]);
  const since = Math.min(...open.map(({ acceptedAt }) => acceptedAt));
  const ended =
    open.length === 0
      ? last
      : await sql<(typeof run.$inferSelect)[]>`
          select * from run where conversation_id = ${id} and status not in ('waiting', 'running')
            and ended_at >= ${since} order by ended_at desc nulls last, seq desc nulls last`;
  return {
    ...activation,
    created: false,
    runs: [...open, ...(ended.length > 0 ? ended : last)].map(toRun),
    inbox: waiting.map(toInbox),
  };
}

/** `undefined`: it has become free meanwhile. */
async function whyNot(
  sql: Sql,
  node: NodeId,
  conversationId: ConversationId,
  member: MemberId,
): Promise<ActivationResult | undefined> {
  const [row] = await sql<{ ownerNode: NodeId | null; free: boolean }[]>`
    select c.owner_node, ${free(sql, node)} as free from conversation c
    where c.id = ${conversationId} and c.owner_member = ${member}`;
  if (row === undefined) return { kind: "notFound" };
  return row.ownerNode === null || row.free ? undefined : { kind: "elsewhere", node: row.ownerNode };
}

/** Gives a conversation up; nothing if another owner has it. Not waiting for the disk: what is lost is only the giving up. */
export async function release(database: Database, node: NodeId, lease: Lease): Promise<void> {
  await database.attempt(
    (sql) => sql`
      update conversation c set owner_node = null from set_config('synchronous_commit', 'off', true)
      where c.id = ${lease.conversationId} and c.fence = ${lease.fence} and c.owner_node = ${node}`,
  );
}
