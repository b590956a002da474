import { withoutDisplay } from "../rows.ts";
import { base64, named, type Part, rowsOf, storable } from "./part.ts";

/** Runs, their tool calls and model calls, their traces. */
export const RUNS: readonly Part[] = [
  (sql, { runsOpened }) =>
    rowsOf(
      runsOpened,
      ({ request, wireRunIds, partial, parkDeadline, ...rest }, n) => ({
        ...{ n, ...rest, wireRunIds: JSON.stringify(wireRunIds), request: base64(request) },
        partial: partial && JSON.stringify(partial),
        parkDeadline: parkDeadline === 0 ? undefined : parkDeadline,
      }),
      (rows) => sql`
        , run_rows as (
          insert into run (conversation_id, run_id, kind, status, failure_code, message_id, wire_run_ids, agent_session_id,
            request_id, generation, trace_id, model_id, park_deadline, accepted_at, ended_at, delivered, request, partial,
            base_head, final_head)
          select mine.id, r."runId", r.kind, r.status, r."failureCode", r."messageId", r."wireRunIds"::json,
            r."agentSessionId", r."requestId", r.generation, r."traceId", r."modelId", r."parkDeadline", r."acceptedAt",
            r."endedAt", r.delivered, decode(r.request, 'base64'), r.partial::json, r."baseHead", r."finalHead"
          from mine, json_to_recordset(${rows}::text::json) as r
            (n int, "runId" text, kind text, status text, "failureCode" text, "messageId" text, "wireRunIds" text,
             "agentSessionId" text, "requestId" text, generation int, "traceId" text, "modelId" text, "parkDeadline" bigint,
             "acceptedAt" bigint, "endedAt" bigint, delivered boolean, request text, partial text, "baseHead" text, "finalHead" text)
          order by r.n
          on conflict do nothing)`,
    ),

  (sql, { runsChanged }) =>
    rowsOf(
      runsChanged,
      ({ wireRunIds, partial, ...rest }) => ({
        ...{ ...rest, wireRunIds: wireRunIds && JSON.stringify(wireRunIds) },
        // absent: as it is; null: none any more
        ...{ shown: partial !== undefined, partial: partial && JSON.stringify(partial) },
      }),
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
            partial = case when r.shown then r.partial::json else run.partial end,
            base_head = coalesce(r."baseHead", run.base_head),
            final_head = coalesce(r."finalHead", run.final_head)
          from mine, json_to_recordset(${rows}::text::json) as r
            ("runId" text, kind text, status text, "failureCode" text, "messageId" text, "wireRunIds" text,
             "agentSessionId" text, "requestId" text, generation int, "traceId" text, "modelId" text, "parkDeadline" bigint,
             "acceptedAt" bigint, "endedAt" bigint, delivered boolean, shown boolean, partial text, "baseHead" text,
             "finalHead" text)
          where run.run_id = any (${named(sql, runsChanged, (change) => change.runId)})
            and run.run_id = r."runId" and run.conversation_id = mine.id
            and (r.status is null or r.status = run.status or run.status = 'waiting'
              or (run.status = 'running' and r.status <> 'waiting')))`,
    ),

  (sql, { runsClaimed }) =>
    rowsOf(
      runsClaimed,
      ({ runId, requestId, generation }) => ({ runId, requestId, generation }),
      (rows) => sql`
        , claim_rows as (
          insert into run_claim (conversation_id, request_id, generation, run_id)
          select mine.id, r."requestId", r.generation, r."runId"
          from mine, json_to_recordset(${rows}::text::json) as r ("requestId" text, generation int, "runId" text)
          on conflict do nothing)`,
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

  (sql, { modelCalls }) =>
    rowsOf(
      modelCalls,
      ({ usage, prefix, mark, ...rest }, n) => ({
        ...{ n, ...rest, usage: JSON.stringify(usage), prefix: prefix && JSON.stringify(prefix) },
        mark: mark && JSON.stringify(mark),
      }),
      (rows) => sql`
        , model_call_rows as (
          insert into model_call (conversation_id, model_call_id, run_id, step, purpose, model_id, usage, started_at, ended_at,
            outcome, failure_code, prefix, mark)
          select mine.id, r."modelCallId", r."runId", r.step, r.purpose, r."modelId", r.usage::json, r."startedAt",
            r."endedAt", r.outcome, r."failureCode", r.prefix::json, r.mark::json
          from mine, json_to_recordset(${rows}::text::json) as r
            (n int, "modelCallId" text, "runId" text, step int, purpose text, "modelId" text, usage text, "startedAt" bigint,
             "endedAt" bigint, outcome text, "failureCode" text, prefix text, mark text)
          order by r.n
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
];
