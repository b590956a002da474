import type { FoldedBarrier } from "../barrier.ts";
import type { Sql } from "../connection.ts";

/** A piece of the statement of a commit. */
export type Sentence = ReturnType<Sql>;

/**
 * What a barrier writes to one table: further parts of the statement's `with`, beginning with a comma, whose rows come from a
 * join with `mine` (`id`, `owner_member`, `base`: none without the fence). `undefined`: the barrier has nothing for it.
 */
export type Part = (sql: Sql, barrier: FoldedBarrier) => Sentence | undefined;

/** One parameter for all rows of a part, whatever their number: the statement stays the same and stays prepared. */
export function rowsOf<T>(
  rows: readonly T[] | undefined,
  encode: (row: T, index: number) => unknown,
  part: (json: string) => Sentence,
): Sentence | undefined {
  return rows === undefined || rows.length === 0 ? undefined : part(JSON.stringify(rows.map(encode)));
}

/**
 * The keys of the rows that a part changes. With them the rows are found by key alone; by the join alone the planner, which
 * takes every list of rows for a hundred, may read the whole index instead.
 */
export function named<T>(sql: Sql, rows: readonly T[], key: (row: T) => string | number): Sentence {
  return sql`array(select json_array_elements_text(${JSON.stringify(rows.map(key))}::text::json))`;
}

export function base64(data: Uint8Array | undefined): string | undefined {
  return data && Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

/** jsonb cannot hold NUL or half a surrogate pair. */
export function storable(_key: string, value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\u{FFFD}").toWellFormed() : value;
}
