import type { CanonicalMessage, CheckpointId, CheckpointNode, ConversationId, InputAnchor } from "@chartroom/domain";
import type { Sql } from "./connection.ts";
import { StoreError } from "./failure.ts";
import { toAnchor, toCheckpoint, toMessage } from "./rows.ts";
import type { checkpoint, inputAnchor, message } from "./schema/index.ts";

type ChainRow = { parent: CheckpointId | null; listed: boolean } & {
  [K in keyof typeof message.$inferSelect]: (typeof message.$inferSelect)[K] | null;
};

/**
 * Messages of the chain that ends in `head`, root first; with `after`, only those behind that node. The cost grows with the
 * nodes and messages that it gives back and with nothing else: each node and each message is one look-up by key (the
 * `limit 1` keeps the planner from reading a whole conversation to join it instead).
 */
export async function messages(
  sql: Sql,
  conversationId: ConversationId,
  head: CheckpointId,
  after: CheckpointId | undefined,
): Promise<readonly CanonicalMessage[]> {
  if (head === after) return [];
  const rows = await sql<ChainRow[]>`
    with recursive chain as (
      select c.parent, c.added, 1 as depth from checkpoint c
      where c.conversation_id = ${conversationId} and c.id = ${head}
      union all
      select p.parent, p.added, chain.depth + 1 from chain cross join lateral (
        select c.parent, c.added from checkpoint c
        where c.conversation_id = ${conversationId} and c.id = chain.parent limit 1) p
      where chain.parent is distinct from ${after ?? null}::text)
    select chain.parent, a.id is not null as listed, m.* from chain
    left join lateral json_array_elements_text(chain.added) with ordinality as a (id, place) on true
    left join lateral (
      select id, role, origin, content, display, event, run_id from message
      where conversation_id = ${conversationId} and id = a.id limit 1) m on true
    order by chain.depth desc, a.place`;
  const root = rows[0];
  if (root === undefined || root.parent !== (after ?? null)) {
    throw new StoreError("brokenChain", "the checkpoint chain does not lead there");
  }
  return rows.filter((row) => row.listed).map(toListed);
}

function toListed(row: ChainRow): CanonicalMessage {
  if (row.id === null) throw new StoreError("brokenChain", "a message that the checkpoint chain lists is not stored");
  return toMessage(row as typeof message.$inferSelect);
}

export async function checkpoints(sql: Sql, conversationId: ConversationId): Promise<readonly CheckpointNode[]> {
  const rows = await sql<(typeof checkpoint.$inferSelect)[]>`
    select id, seq, parent, run_id, added, length, summary_id, kept_from, null as wire_state, delivered
    from checkpoint where conversation_id = ${conversationId} order by seq`;
  return rows.map(toCheckpoint);
}

export async function checkpointById(
  sql: Sql,
  conversationId: ConversationId,
  id: CheckpointId,
): Promise<CheckpointNode | undefined> {
  const rows = await sql<(typeof checkpoint.$inferSelect)[]>`
    select * from checkpoint where conversation_id = ${conversationId} and id = ${id}`;
  return rows.map(toCheckpoint)[0];
}

export async function anchors(sql: Sql, conversationId: ConversationId): Promise<readonly InputAnchor[]> {
  const rows = await sql<(typeof inputAnchor.$inferSelect)[]>`
    select * from input_anchor where conversation_id = ${conversationId} order by seq`;
  return rows.map(toAnchor);
}
