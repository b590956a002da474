import type { ConversationId, MemberId, RequestId } from "@chartroom/domain";
import type { Sql } from "./connection.ts";
import { StoreError } from "./failure.ts";

export interface Bound {
  readonly conversationId: ConversationId;
  readonly generation: number;
}

/**
 * Binds a request id for ever and gives its newest generation; `undefined`: it belongs to another conversation. Does not wait
 * for the disk: whatever is answered on the strength of a binding waits for a commit, which makes the disk hold both.
 */
export async function bind(
  sql: Sql,
  member: MemberId,
  requestId: RequestId,
  conversationId: ConversationId,
): Promise<number | undefined> {
  const [row] = await sql<{ generation: number }[]>`
    insert into request_binding as b (member, request_id, conversation_id, generation)
    select ${member}, ${requestId}, ${conversationId}, 1 from set_config('synchronous_commit', 'off', true)
    on conflict (member, request_id) do update set generation = b.generation
    where b.conversation_id = excluded.conversation_id
    returning b.generation`;
  return row?.generation;
}

/** The next use of a bound request id. Not waiting for the disk, as `bind`. */
export async function nextGeneration(sql: Sql, member: MemberId, requestId: RequestId): Promise<number> {
  const [row] = await sql<{ generation: number }[]>`
    update request_binding b set generation = b.generation + 1 from set_config('synchronous_commit', 'off', true)
    where b.member = ${member} and b.request_id = ${requestId}
    returning b.generation`;
  if (row === undefined) throw new StoreError("unbound", "the request id is not bound");
  return row.generation;
}

export async function binding(sql: Sql, member: MemberId, requestId: RequestId): Promise<Bound | undefined> {
  const [row] = await sql<Bound[]>`
    select conversation_id, generation from request_binding where member = ${member} and request_id = ${requestId}`;
  return row && { ...row };
}
