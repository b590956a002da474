import type { Barrier, CommitResult, Lease, NodeId } from "@chartroom/domain";
import { foldBarrier, type FoldedBarrier } from "./barrier.ts";
import type { Sql } from "./connection.ts";
import { withoutDisplay } from "./rows.ts";

type Part = ReturnType<Sql>;

/**
 * Writes a barrier: one statement, so one round trip and one transaction. Its first part updates the conversation's row with
 * the fence and the node; every other part takes its rows from a join with what that gave, so without the fence nothing is
 * written. `writeSeq` must rise with every attempt of this process.
 */
export async function commit(
  sql: Sql,
  node: NodeId,
  lease: Lease,
  barrier: Barrier,
  writeSeq: number,
): Promise<CommitResult> {
  const folded = foldBarrier(barrier);
  const put = folded.inboxPut.length > 0;
  const parts = PARTS.flatMap((part) => part(sql, folded) ?? []);
  const rows = await sql<{ base: number; key?: string | null; seq?: number | null }[]>`
    with mine as (${own(sql, node, lease, folded, writeSeq)})
    ${parts.length > 0 ? parts : sql``}
    select mine.base ${put ? sql`, put.key, put.seq from mine left join put on true` : sql`from mine`}`;
  if (rows.length === 0) return { kind: "fenced" };
  return { kind: "committed", inbox: put ? answers(barrier, folded, rows) : [] };
}

/** The lock, the fence, and what belongs to the conversation's own row. */
function own(sql: Sql, node: NodeId, lease: Lease, barrier: FoldedBarrier, writeSeq: number): Part {
  const { chart, head } = barrier;
  return sql`
    update conversation set write_seq = ${writeSeq}, inbox_seq = inbox_seq + ${barrier.inboxPut.length}
    ${
      chart === undefined
        ? sql``
        : sql`, machine = ${chart.machine}, version = ${chart.version}, deadline = ${barrier.deadline},
            state = ${JSON.stringify({ value: chart.value, context: chart.context }, storable)}::text::jsonb`
    }
    ${head === undefined ? sql`` : sql`, head = ${head}`}
    where id = ${lease.conversationId} and fence = ${lease.fence} and owner_node = ${node} and write_seq < ${writeSeq}
    returning id, owner_member, inbox_seq - ${barrier.inboxPut.length} as base`;
}

const PARTS: readonly ((sql: Sql, barrier: FoldedBarrier) => Part | undefined)[] = [
  (sql, { messages }) =>
    rowsOf(
      messages,
      ({ id, role, origin, content, event, runId }) => {
        const result = content.kind === "toolResult" ? withoutDisplay(content.result) : undefined;
        const stored = result === undefined ? content : { kind: content.kind, result: result.json };
        return { id, role, origin, event, runId, content: JSON.stringify(stored), display: base64(result?.display) };
      },
      (rows) => sql`
        , message_rows as (
          insert into message (conversation_id, id, role, origin, content, display, event, run_id)
          select mine.id, r.id, r.role, r.origin, r.content::json, decode(r.display, 'base64'), r.event, r."runId"
          from mine, json_to_recordset(${rows}::text::json) as r
            (id text, role text, origin text, content text, display text, event text, "runId" text)
          on conflict do nothing)`,
    ),

  (sql, { checkpoints }) =>
    rowsOf(
      checkpoints,
      ({ id, parent, runId, added, length, compaction, wireState, delivered }, n) => ({
        ...{ n, id, parent, runId, added: JSON.stringify(added), length, delivered },
        summaryId: compaction?.summaryId,
        keptFrom: compaction?.keptFrom,
        wireState: base64(wireState),
      }),
      (rows) => sql`
        , checkpoint_rows as (
          insert into checkpoint as old
            (conversation_id, id, parent, run_id, added, length, summary_id, kept_from, wire_state, delivered)
          select mine.id, r.id, r.parent, r."runId", r.added::json, r.length, r."summaryId", r."keptFrom",
            decode(r."wireState", 'base64'), r.delivered
          from mine, json_to_recordset(${rows}::text::json) as r
            (n int, id text, parent text, "runId" text, added text, length int, "summaryId" text, "keptFrom" text,
             "wireState" text, delivered boolean)
          order by r.n
          on conflict (conversation_id, id) do update
            set wire_state = coalesce(old.wire_state, excluded.wire_state), delivered = old.delivered or excluded.delivered
            where (old.wire_state is null and excluded.wire_state is not null) or (excluded.delivered and not old.delivered))`,
    ),

  // as an insert that meets the row, since that finds it by its whole key on every plan
  (sql, { checkpointDelivered }) =>
    rowsOf(
      checkpointDelivered,
      (id) => id,
      (ids) => sql`
        , checkpoint_delivered as (
          insert into checkpoint as old (conversation_id, id, added, length, delivered)
          select mine.id, c.id, c.added, c.length, true
          from mine, json_array_elements_text(${ids}::text::json) as r (id), lateral (
            select id, added, length from checkpoint where conversation_id = mine.id and id = r.id limit 1) c
          on conflict (conversation_id, id) do update set delivered = true where not old.delivered)`,
    ),

  (sql, { anchors }) =>
    rowsOf(
      anchors,
      ({ inputId, event, base }, n) => ({ n, inputId, event, base }),
      (rows) => sql`
        , anchor_rows as (
          insert into input_anchor (conversation_id, input_id, event, base)
          select mine.id, r."inputId", r.event, r.base
          from mine, json_to_recordset(${rows}::text::json) as r (n int, "inputId" text, event text, base text)
          order by r.n
          on conflict do nothing)`,
    ),

  (sql, { runsOpened }) =>
    rowsOf(
      runsOpened,
      ({ request, wireRunIds, parkDeadline, ...rest }, n) => ({
        ...{ n, ...rest, wireRunIds: JSON.stringify(wireRunIds), request: base64(request) },
        parkDeadline: parkDeadline === 0 ? undefined : parkDeadline,
      }),
      (rows) => sql`
        , run_rows as (
          insert into run (conversation_id, run_id, kind, status, failure_code, message_id, wire_run_ids, agent_session_id,
            request_id, generation, trace_id, model_id, park_deadline, accepted_at, ended_at, delivered, request, base_head,
            final_head)
          select mine.id, r."runId", r.kind, r.status, r."failureCode", r."messageId", r."wireRunIds"::json,
            r."agentSessionId", r."requestId", r.generation, r."traceId", r."modelId", r."parkDeadline", r."acceptedAt",
            r."endedAt", r.delivered, decode(r.request, 'base64'), r."baseHead", r."finalHead"
          from mine, json_to_recordset(${rows}::text::json) as r
            (n int, "runId" text, kind text, status text, "failureCode" text, "messageId" text, "wireRunIds" text,
             "agentSessionId" text, "requestId" text, generation int, "traceId" text, "modelId" text, "parkDeadline" bigint,
             "acceptedAt" bigint, "endedAt" bigint, delivered boolean, request text, "baseHead" text, "finalHead" text)
          order by r.n
          on conflict do nothing)`,
    ),

  (sql, { runsChanged }) =>
    rowsOf(
      runsChanged,
      ({ wireRunIds, ...rest }) => ({ ...rest, wireRunIds: wireRunIds && JSON.stringify(wireRunIds) }),
      (rows) => sql`
        , run_changes as (
          update run set
            kind = coalesce(r.kind, run.kind),
            status = coalesce(r.status, run.status),
            failure_code = case when run.status in ('waiting', 'running')
              then coalesce(r."failureCode", run.failure_code) else run.failure_code end,
            message_id = coalesce(r."messageId", run.message_id),
            wire_run_ids = coalesce(r."wireRunIds"::json, run.wire_run_ids),
            agent_session_id = coalesce(r."agentSessionId", run.agent_session_id),
            request_id = coalesce(r."requestId", run.request_id),
            generation = coalesce(r.generation, run.generation),
            trace_id = coalesce(r."traceId", run.trace_id),
            model_id = coalesce(r."modelId", run.model_id),
            park_deadline = nullif(coalesce(r."parkDeadline", run.park_deadline), 0),
            accepted_at = coalesce(r."acceptedAt", run.accepted_at),
            ended_at = case when run.status in ('waiting', 'running')
              then coalesce(r."endedAt", run.ended_at) else coalesce(run.ended_at, r."endedAt") end,
            delivered = run.delivered or coalesce(r.delivered, false),
            base_head = coalesce(r."baseHead", run.base_head),
            final_head = coalesce(r."finalHead", run.final_head)
          from mine, json_to_recordset(${rows}::text::json) as r
            ("runId" text, kind text, status text, "failureCode" text, "messageId" text, "wireRunIds" text,
             "agentSessionId" text, "requestId" text, generation int, "traceId" text, "modelId" text, "parkDeadline" bigint,
             "acceptedAt" bigint, "endedAt" bigint, delivered boolean, "baseHead" text, "finalHead" text)
          where run.run_id = any (${named(sql, runsChanged, (change) => change.runId)})
            and run.run_id = r."runId" and run.conversation_id = mine.id
            and (r.status is null or r.status = run.status or run.status = 'waiting'
              or (run.status = 'running' and r.status <> 'waiting')))`,
    ),

  (sql, { callsOpened }) =>
    rowsOf(
      callsOpened,
      ({ callId, runId, step, modelCallId, providerId, record, status, deadline, result }, n) => {
        const settled = result && withoutDisplay(result);
        return {
          ...{ n, callId, runId, step, modelCallId, providerId, record: JSON.stringify(record), status, deadline },
          result: settled && JSON.stringify(settled.json),
          display: base64(settled?.display),
        };
      },
      (rows) => sql`
        , call_rows as (
          insert into tool_call (conversation_id, call_id, run_id, step, model_call_id, provider_id, record, status, deadline,
            result, display)
          select mine.id, r."callId", r."runId", r.step, r."modelCallId", r."providerId", r.record::json, r.status,
            r.deadline, r.result::json, decode(r.display, 'base64')
          from mine, json_to_recordset(${rows}::text::json) as r
            (n int, "callId" text, "runId" text, step int, "modelCallId" text, "providerId" text, record text, status text,
             deadline bigint, result text, display text)
          order by r.n
          on conflict do nothing)`,
    ),

  (sql, { callsChanged }) =>
    rowsOf(
      callsChanged,
      ({ callId, deadline, result }) => {
        const settled = result && withoutDisplay(result);
        return {
          ...{ callId, deadline, result: settled && JSON.stringify(settled.json) },
          display: base64(settled?.display),
        };
      },
      (rows) => sql`
        , call_changes as (
          update tool_call t set
            status = case when r.result is null then 'open' else 'settled' end,
            deadline = coalesce(r.deadline, t.deadline),
            result = r.result::json,
            display = decode(r.display, 'base64')
          from mine, json_to_recordset(${rows}::text::json) as r
            ("callId" text, deadline bigint, result text, display text)
          where t.conversation_id = mine.id and t.call_id = any (${named(sql, callsChanged, (change) => change.callId)})
            and t.call_id = r."callId" and t.status = 'open')`,
    ),

  (sql, { inboxPut }) =>
    rowsOf(
      inboxPut,
      ({ kind, key, body, runId, requestId, generation }, n) => ({
        ...{ n: n + 1, kind, key, body: base64(body), runId, requestId, generation },
      }),
      (rows) => sql`
        , offered as (
          select mine.id, mine.base + r.n as seq, r.*
          from mine, json_to_recordset(${rows}::text::json) as r
            (n int, kind text, key text, body text, "runId" text, "requestId" text, generation int)),
        put as (
          insert into applied as old (conversation_id, key, seq, state)
          select offered.id, offered.key, offered.seq, 'waiting' from offered
          on conflict (conversation_id, key) do update set seq = old.seq
          returning key, seq),
        inbox_rows as (
          insert into inbox (conversation_id, seq, kind, key, body, run_id, request_id, generation)
          select o.id, o.seq, o.kind, o.key, decode(o.body, 'base64'), o."runId", o."requestId", o.generation
          from offered o join put on put.key = o.key and put.seq = o.seq)`,
    ),

  (sql, { inboxLeft }) =>
    rowsOf(
      inboxLeft,
      (row) => row,
      (rows) => sql`
        , inbox_left as (
          delete from inbox i using mine, json_to_recordset(${rows}::text::json) as r (seq bigint, state text)
          where i.conversation_id = mine.id and i.seq = any (${named(sql, inboxLeft, ({ seq }) => seq)}::bigint[])
            and i.seq = r.seq
          returning i.key, r.state),
        applied_left as (
          update applied a set state = l.state from mine, inbox_left l
          where a.conversation_id = mine.id and a.key = any (array(select key from inbox_left)) and a.key = l.key)`,
    ),

  (sql, { blobs }) =>
    rowsOf(
      blobs,
      ({ id, data }) => ({ id, data: base64(data) }),
      // in one order everywhere, so that two conversations of a member that write the same blobs cannot wait for each other
      (rows) => sql`
        , blob_rows as (
          insert into blob (member, id, data)
          select mine.owner_member, r.id, decode(r.data, 'base64')
          from mine, json_to_recordset(${rows}::text::json) as r (id text, data text)
          order by r.id collate "C"
          on conflict do nothing)`,
    ),

  (sql, { modelCalls }) =>
    rowsOf(
      modelCalls,
      ({ usage, prefix, ...rest }) => ({
        ...{ ...rest, usage: JSON.stringify(usage), prefix: prefix && JSON.stringify(prefix) },
      }),
      (rows) => sql`
        , model_call_rows as (
          insert into model_call (conversation_id, model_call_id, run_id, step, model_id, usage, started_at, ended_at, outcome,
            failure_code, prefix)
          select mine.id, r."modelCallId", r."runId", r.step, r."modelId", r.usage::json, r."startedAt", r."endedAt",
            r.outcome, r."failureCode", r.prefix::json
          from mine, json_to_recordset(${rows}::text::json) as r
            ("modelCallId" text, "runId" text, step int, "modelId" text, usage text, "startedAt" bigint, "endedAt" bigint,
             outcome text, "failureCode" text, prefix text)
          on conflict do nothing)`,
    ),

  (sql, { trace }) =>
    trace &&
    sql`
      , trace_row as (
        insert into trace as old (trace_id, conversation_id, run_id, attributes)
        select ${trace.traceId}, mine.id, ${trace.runId}, ${JSON.stringify(trace.attributes, storable)}::text::jsonb from mine
        on conflict (trace_id) do update set attributes = old.attributes || excluded.attributes
        where old.conversation_id = excluded.conversation_id)`,

  (sql, { journal }) =>
    rowsOf(
      journal,
      ({ seq, runId, event, from, to, at, fence }) => ({
        ...{ seq, runId, at, fence },
        ...{ event: JSON.stringify(event), from: JSON.stringify(from), to: JSON.stringify(to) },
      }),
      (rows) => sql`
        , journal_rows as (
          insert into lifecycle_event (conversation_id, seq, run_id, event, from_state, to_state, at, fence)
          select mine.id, r.seq, r."runId", r.event::json, r."from"::json, r."to"::json, r.at, r.fence
          from mine, json_to_recordset(${rows}::text::json) as r
            (seq bigint, "runId" text, event text, "from" text, "to" text, at bigint, fence bigint)
          on conflict do nothing)`,
    ),
];

/** One parameter for all rows of a part, whatever their number: the statement stays the same and stays prepared. */
function rowsOf<T>(
  rows: readonly T[] | undefined,
  encode: (row: T, index: number) => unknown,
  part: (json: string) => Part,
): Part | undefined {
  return rows === undefined || rows.length === 0 ? undefined : part(JSON.stringify(rows.map(encode)));
}

/**
 * The keys of the rows that a part changes. With them the rows are found by key alone; by the join alone the planner, which
 * takes every list of rows for a hundred, may read the whole index instead.
 */
function named<T>(sql: Sql, rows: readonly T[], key: (row: T) => string | number): Part {
  return sql`array(select json_array_elements_text(${JSON.stringify(rows.map(key))}::text::json))`;
}

function base64(data: Uint8Array | undefined): string | undefined {
  return data && Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

/** jsonb cannot hold NUL or half a surrogate pair. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\u{FFFD}").toWellFormed() : value;
}

/** One answer per entry of the barrier, in its order. */
function answers(
  barrier: Barrier,
  folded: FoldedBarrier,
  rows: readonly { base: number; key?: string | null; seq?: number | null }[],
): { readonly key: string; readonly seq: number; readonly duplicate: boolean }[] {
  const base = rows[0]!.base;
  const stored = new Map(rows.map((row) => [row.key, row.seq]));
  const offered = new Map(folded.inboxPut.map(({ key }, n) => [key, base + n + 1]));
  return (barrier.inboxPut ?? []).map(({ key }) => {
    const seq = stored.get(key)!;
    const duplicate = seq !== offered.get(key);
    // a second entry with the same key in the same barrier is a repeat of the first
    offered.delete(key);
    return { key, seq, duplicate };
  });
}
