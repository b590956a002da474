import type { ConversationId, LifecycleEvent, RunId } from "@chartroom/domain";
import { bigint, json, primaryKey, snakeCase, text } from "drizzle-orm/pg-core";

/** The journal of every transition of a conversation's chart. */
export const lifecycleEvent = snakeCase.table(
  "lifecycle_event",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    fence: bigint({ mode: "number" }).notNull(),
    /** From 1 within a fence. */
    seq: bigint({ mode: "number" }).notNull(),
    runId: text().$type<RunId>(),
    event: json().$type<LifecycleEvent["event"]>().notNull(),
    fromState: json().$type<LifecycleEvent["from"]>().notNull(),
    toState: json().$type<LifecycleEvent["to"]>().notNull(),
    at: bigint({ mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.conversationId, t.fence, t.seq] })],
);
