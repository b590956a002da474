import type {
  CheckpointId,
  ConversationId,
  MemberId,
  NodeId,
  PersistedChart,
  RunId,
  ToolCallId,
} from "@chartroom/domain";
import { sql } from "drizzle-orm";
import { bigint, check, index, integer, jsonb, snakeCase, text, timestamp } from "drizzle-orm/pg-core";

/**
 * A room. Its row is the lock of everything below it: each write of a barrier first updates this row with `fence` and
 * `owner_node` of the writer, so no other table needs a foreign key or a lock of its own.
 */
export const conversation = snakeCase.table(
  "conversation",
  {
    id: text().$type<ConversationId>().primaryKey(),
    ownerMember: text().$type<MemberId>().notNull(),
    fence: bigint({ mode: "number" }).notNull(),
    ownerNode: text().$type<NodeId>(),
    /** Rises with each write under one fence, so that a write that was given up on and arrives late is refused. */
    writeSeq: bigint({ mode: "number" }).notNull().default(0),
    machine: text().$type<PersistedChart["machine"]>(),
    version: integer(),
    state: jsonb().$type<Pick<PersistedChart, "value" | "context">>(),
    head: text().$type<CheckpointId>(),
    /** The last number given to a row of the inbox. */
    inboxSeq: bigint({ mode: "number" }).notNull().default(0),
    /** Epoch ms: the earliest deadline of the stored chart; null when it waits for nothing. */
    deadline: bigint({ mode: "number" }),
    parentConversationId: text().$type<ConversationId>(),
    parentRunId: text().$type<RunId>(),
    parentToolCallId: text().$type<ToolCallId>(),
    createdAt: timestamp({ withTimezone: true }).notNull().defaultNow(),
  },
  (t) => [
    index("conversation_deadline")
      .on(t.deadline)
      .where(sql`${t.deadline} is not null`),
    check(
      "conversation_parent_whole",
      sql`num_nulls(${t.parentConversationId}, ${t.parentRunId}, ${t.parentToolCallId}) in (0, 3)`,
    ),
  ],
);

/** A process that may own conversations, alive while its lease has not ended by the database's clock. */
export const node = snakeCase.table("node", {
  id: text().$type<NodeId>().primaryKey(),
  leaseUntil: timestamp({ withTimezone: true }).notNull(),
});
