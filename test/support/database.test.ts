import { connect } from "@chartroom/store";
import { describe, expect } from "vitest";
import { createDatabase, test } from "./database.ts";

const tables = async (url: string): Promise<string[]> => {
  const sql = connect(url);
  try {
    const rows = await sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public' order by 1`;
    return rows.map(({ name }) => name);
  } finally {
    await sql.end();
  }
};

describe("a test file's database", () => {
  test("has the migrated schema", async ({ url }) => {
    expect(await tables(url)).toEqual(expect.arrayContaining(["blob", "conversation", "inbox", "message", "run"]));
  });

  test("is its own: what is written to one is not in another", async ({ url }) => {
    const other = await createDatabase();
    const sql = connect(other.url);
    await sql`create table only_here (n int)`;
    await sql.end();
    expect(await tables(other.url)).toContain("only_here");
    expect(await tables(url)).not.toContain("only_here");
    await other.drop();
  });

  test("is gone when dropped, whoever still uses it", async () => {
    const database = await createDatabase();
    const sql = connect(database.url);
    await sql`select 1`;
    await database.drop();
    await sql.end();
    await expect(tables(database.url)).rejects.toThrow("does not exist");
  });

  test("serves several nodes", async ({ node, openNode }) => {
    const other = await openNode();
    expect(other.nodeId).not.toBe(node.nodeId);
    expect(await Promise.all([node.ready(), other.ready()])).toEqual([true, true]);
  });
});
