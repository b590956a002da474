import type {
  BlobId,
  CanonicalMessage,
  CheckpointId,
  ConversationId,
  EventId,
  HistoryId,
  MemberId,
  RunId,
} from "@chartroom/domain";
import { sql } from "drizzle-orm";
import { bigint, boolean, bytea, integer, json, primaryKey, snakeCase, text, uniqueIndex } from "drizzle-orm/pg-core";

/** Canonical history: rows are added and never changed. `content` is json, not jsonb: its text comes back as it was written. */
export const message = snakeCase.table(
  "message",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    id: text().$type<HistoryId>().notNull(),
    role: text().$type<CanonicalMessage["role"]>().notNull(),
    origin: text().$type<CanonicalMessage["origin"]>().notNull(),
    content: json().$type<CanonicalMessage["content"]>().notNull(),
    /** `display` of a tool result, which is bytes. */
    display: bytea(),
    event: text().$type<EventId>(),
    runId: text().$type<RunId>(),
  },
  (t) => [primaryKey({ columns: [t.conversationId, t.id] })],
);

/** A node of the chain: what it adds to its parent. Only `wire_state` (once) and `delivered` are written after it exists. */
export const checkpoint = snakeCase.table(
  "checkpoint",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    id: text().$type<CheckpointId>().notNull(),
    /** Order in which nodes were committed. */
    seq: bigint({ mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    parent: text().$type<CheckpointId>(),
    runId: text().$type<RunId>(),
    added: json().$type<HistoryId[]>().notNull(),
    length: integer().notNull(),
    summaryId: text().$type<HistoryId>(),
    keptFrom: text().$type<HistoryId>(),
    wireState: bytea(),
    delivered: boolean().notNull(),
  },
  (t) => [primaryKey({ columns: [t.conversationId, t.id] })],
);

export const inputAnchor = snakeCase.table(
  "input_anchor",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    inputId: text().notNull(),
    event: text().$type<EventId>().notNull(),
    /** Order in which anchors were committed. */
    seq: bigint({ mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    base: text().$type<CheckpointId>(),
  },
  (t) => [
    primaryKey({ columns: [t.conversationId, t.seq] }),
    uniqueIndex("input_anchor_once").on(t.conversationId, t.inputId, t.event, sql`coalesce(${t.base}, '')`),
  ],
);

export const blob = snakeCase.table(
  "blob",
  {
    member: text().$type<MemberId>().notNull(),
    id: text().$type<BlobId>().notNull(),
    data: bytea().notNull(),
  },
  (t) => [primaryKey({ columns: [t.member, t.id] })],
);
