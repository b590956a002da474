import { base64, named, type Part, rowsOf } from "./part.ts";

/** What waits, and the journal. */
export const INBOX: readonly Part[] = [
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
