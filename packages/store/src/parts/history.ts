import { withoutDisplay } from "../rows.ts";
import { base64, type Part, rowsOf } from "./part.ts";

/** Messages, nodes, anchors, blobs. */
export const HISTORY: readonly Part[] = [
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
];
