import type { ConversationId, InboxRow, MemberId, RequestId, RunId } from "@chartroom/domain";
import { bigint, bytea, integer, primaryKey, snakeCase, text } from "drizzle-orm/pg-core";

/** What waits for the next border; a row that was taken or dropped is gone, and only `applied` remembers it. */
export const inbox = snakeCase.table(
  "inbox",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    seq: bigint({ mode: "number" }).notNull(),
    kind: text().$type<InboxRow["kind"]>().notNull(),
    key: text().notNull(),
    body: bytea().notNull(),
    runId: text().$type<RunId>(),
    requestId: text().$type<RequestId>().notNull(),
    generation: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.conversationId, t.seq] })],
);

/** Every idempotency key that was ever put into an inbox, the number that it got, and what became of it. */
export const applied = snakeCase.table(
  "applied",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    key: text().notNull(),
    seq: bigint({ mode: "number" }).notNull(),
    state: text().$type<InboxRow["state"]>().notNull(),
  },
  // the key first: see the indexes of `run`
  (t) => [primaryKey({ columns: [t.key, t.conversationId] })],
);

/** A member's request id belongs to one conversation for ever; `generation` counts its uses. */
export const requestBinding = snakeCase.table(
  "request_binding",
  {
    member: text().$type<MemberId>().notNull(),
    requestId: text().$type<RequestId>().notNull(),
    conversationId: text().$type<ConversationId>().notNull(),
    generation: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.member, t.requestId] })],
);
