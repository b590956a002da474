import type { BlobId, MemberId } from "@chartroom/domain";
import type { Sql } from "./connection.ts";
import { bytes } from "./rows.ts";

/** Of the member's blobs, those that exist. */
export async function blobs(
  sql: Sql,
  member: MemberId,
  ids: readonly BlobId[],
): Promise<ReadonlyMap<BlobId, Uint8Array>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<{ id: BlobId; data: Uint8Array }[]>`
    select id, data from blob where member = ${member} and id = any (${list(sql, ids)})`;
  return new Map(rows.map(({ id, data }) => [id, bytes(data)]));
}

export async function hasBlobs(sql: Sql, member: MemberId, ids: readonly BlobId[]): Promise<ReadonlySet<BlobId>> {
  if (ids.length === 0) return new Set();
  const rows = await sql<{ id: BlobId }[]>`
    select id from blob where member = ${member} and id = any (${list(sql, ids)})`;
  return new Set(rows.map(({ id }) => id));
}

function list(sql: Sql, ids: readonly BlobId[]) {
  return sql`array(select json_array_elements_text(${JSON.stringify(ids)}::text::json))`;
}
