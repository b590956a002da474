import type {
  ConversationId,
  MemberId,
  MessageId,
  ModelCallRow,
  ParentConversationRef,
  RequestId,
  RunId,
  RunRow,
  ToolCallId,
  ToolCallRow,
} from "@chartroom/domain";
import type { Sql } from "./connection.ts";
import { toModelCall, toRun, toToolCall } from "./rows.ts";
import type { modelCall, run, toolCall } from "./schema/index.ts";

export type RunKey =
  | { readonly runId: RunId }
  /** The newest Run of a message. */
  | { readonly messageId: MessageId }
  | { readonly requestId: RequestId; readonly generation: number };

export async function findRun(sql: Sql, conversationId: ConversationId, by: RunKey): Promise<RunRow | undefined> {
  const key =
    "runId" in by
      ? sql`run_id = ${by.runId}`
      : "messageId" in by
        ? sql`message_id = ${by.messageId}`
        : sql`run_id in (
            select run_id from run where request_id = ${by.requestId} and generation = ${by.generation}
            union all select run_id from run_claim where request_id = ${by.requestId} and generation = ${by.generation}
              and conversation_id = ${conversationId})`;
  const rows = await sql<(typeof run.$inferSelect)[]>`
    select * from run where conversation_id = ${conversationId} and ${key} order by seq desc limit 1`;
  return rows.map(toRun)[0];
}

/** In the order in which they were opened. */
export async function toolCalls(sql: Sql, conversationId: ConversationId, runId: RunId): Promise<ToolCallRow[]> {
  const rows = await sql<(typeof toolCall.$inferSelect)[]>`
    select * from (select * from tool_call where run_id = ${runId} offset 0) t
    where conversation_id = ${conversationId} order by seq`;
  return rows.map(toToolCall);
}

/** Those with a mark, newest first. */
export async function markedCalls(sql: Sql, conversationId: ConversationId, limit: number): Promise<ModelCallRow[]> {
  const rows = await sql<(typeof modelCall.$inferSelect)[]>`
    select * from model_call where conversation_id = ${conversationId} and mark is not null order by seq desc limit ${limit}`;
  return rows.map(toModelCall);
}

/** The Run of the call, not the newest: the parent may have gone on since. */
export async function parentOf(
  sql: Sql,
  member: MemberId,
  requestId: RequestId,
  callId: ToolCallId,
): Promise<ParentConversationRef | undefined> {
  const [row] = await sql<ParentConversationRef[]>`
    select t.conversation_id as parent_conversation_id, t.run_id as parent_run_id, t.call_id as parent_tool_call_id
    from request_binding b join tool_call t on t.conversation_id = b.conversation_id
    where b.member = ${member} and b.request_id = ${requestId} and t.call_id = ${callId}`;
  return row && { ...row };
}
