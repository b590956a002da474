import type {
  AgentSessionId,
  CheckpointId,
  ConversationId,
  FailureCode,
  MessageId,
  ModelCallId,
  ModelCallRow,
  ModelId,
  ProviderCallId,
  RequestId,
  RunId,
  RunRow,
  ToolCallId,
  ToolCallRow,
  TraceId,
  WireRunId,
} from "@chartroom/domain";
import { sql } from "drizzle-orm";
import { bigint, boolean, bytea, index, integer, json, jsonb, primaryKey, snakeCase, text } from "drizzle-orm/pg-core";

/*
 * An index begins with the conversation only where it is partial. A key that names one row (a Run's id, a request, a call)
 * is then never found by reading all rows of its conversation, whatever the planner thinks of the sizes of tables.
 */

export const run = snakeCase.table(
  "run",
  {
    runId: text().$type<RunId>().primaryKey(),
    conversationId: text().$type<ConversationId>().notNull(),
    /** Order of acceptance. */
    seq: bigint({ mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    kind: text().$type<RunRow["kind"]>().notNull(),
    status: text().$type<RunRow["status"]>().notNull(),
    failureCode: text().$type<FailureCode>(),
    messageId: text().$type<MessageId>(),
    wireRunIds: json().$type<WireRunId[]>().notNull(),
    agentSessionId: text().$type<AgentSessionId>(),
    requestId: text().$type<RequestId>().notNull(),
    generation: integer().notNull(),
    traceId: text().$type<TraceId>().notNull(),
    modelId: text().$type<ModelId>().notNull(),
    parkDeadline: bigint({ mode: "number" }),
    acceptedAt: bigint({ mode: "number" }).notNull(),
    endedAt: bigint({ mode: "number" }),
    delivered: boolean().notNull(),
    request: bytea().notNull(),
    partial: json().$type<NonNullable<RunRow["partial"]>>(),
    baseHead: text().$type<CheckpointId>(),
    finalHead: text().$type<CheckpointId>(),
  },
  (t) => [
    // activation reads the Runs that have not ended and those that ended last, however many there are
    index("run_open")
      .on(t.conversationId, t.seq)
      .where(sql`${t.status} in ('waiting', 'running')`),
    index("run_ended")
      .on(t.conversationId, t.endedAt.desc().nullsLast(), t.seq.desc())
      .where(sql`${t.status} not in ('waiting', 'running')`),
    index("run_request").on(t.requestId, t.generation),
    index("run_message")
      .on(t.messageId, t.seq)
      .where(sql`${t.messageId} is not null`),
    index("run_park")
      .on(t.parkDeadline)
      .where(sql`${t.parkDeadline} is not null and ${t.status} in ('waiting', 'running')`),
  ],
);

/** Generations that claimed a Run; the one that opened it is in the Run's own row. */
export const runClaim = snakeCase.table(
  "run_claim",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    requestId: text().$type<RequestId>().notNull(),
    generation: integer().notNull(),
    runId: text().$type<RunId>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.requestId, t.generation, t.conversationId] })],
);

export const toolCall = snakeCase.table(
  "tool_call",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    callId: text().$type<ToolCallId>().notNull(),
    seq: bigint({ mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    runId: text().$type<RunId>().notNull(),
    step: integer().notNull(),
    modelCallId: text().$type<ModelCallId>().notNull(),
    providerId: text().$type<ProviderCallId>().notNull(),
    record: json().$type<ToolCallRow["record"]>().notNull(),
    status: text().$type<ToolCallRow["status"]>().notNull(),
    deadline: bigint({ mode: "number" }).notNull(),
    result: json().$type<NonNullable<ToolCallRow["result"]>>(),
    /** `display` of the result, which is bytes. */
    display: bytea(),
  },
  (t) => [primaryKey({ columns: [t.callId, t.conversationId] }), index("tool_call_run").on(t.runId, t.seq)],
);

export const modelCall = snakeCase.table(
  "model_call",
  {
    conversationId: text().$type<ConversationId>().notNull(),
    modelCallId: text().$type<ModelCallId>().notNull(),
    /** Order of writing. */
    seq: bigint({ mode: "number" }).notNull().generatedAlwaysAsIdentity(),
    runId: text().$type<RunId>().notNull(),
    step: integer().notNull(),
    purpose: text().$type<NonNullable<ModelCallRow["purpose"]>>(),
    modelId: text().$type<ModelId>().notNull(),
    usage: json().$type<ModelCallRow["usage"]>().notNull(),
    startedAt: bigint({ mode: "number" }).notNull(),
    endedAt: bigint({ mode: "number" }).notNull(),
    outcome: text().$type<ModelCallRow["outcome"]>().notNull(),
    failureCode: text().$type<FailureCode>(),
    prefix: json().$type<NonNullable<ModelCallRow["prefix"]>>(),
    mark: json().$type<NonNullable<ModelCallRow["mark"]>>(),
  },
  (t) => [
    primaryKey({ columns: [t.conversationId, t.modelCallId] }),
    // an activation reads the newest of them, however many there are
    index("model_call_marked")
      .on(t.conversationId, t.seq)
      .where(sql`${t.mark} is not null`),
  ],
);

export const trace = snakeCase.table("trace", {
  traceId: text().$type<TraceId>().primaryKey(),
  conversationId: text().$type<ConversationId>().notNull(),
  runId: text().$type<RunId>().notNull(),
  attributes: jsonb().$type<Record<string, string | number | boolean>>().notNull(),
});
