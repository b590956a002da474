import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, migrate } from "@chartroom/store";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { databaseUrl } from "../support/postgres.setup.ts";

let name: string;
let url: string;
const administer = async (statement: string): Promise<void> => {
  const sql = connect(inject("postgres"));
  await sql.unsafe(statement);
  await sql.end();
};
beforeEach(async () => {
  name = `empty_${randomBytes(6).toString("hex")}`;
  url = databaseUrl(inject("postgres"), name);
  await administer(`create database ${name}`);
});
afterEach(() => administer(`drop database ${name} with (force)`));

const tables = async (): Promise<string[]> => {
  const sql = connect(url);
  const rows = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' order by 1`;
  const applied = await sql<{ name: string }[]>`select name from drizzle.__drizzle_migrations`;
  await sql.end();
  expect(new Set(applied.map((row) => row.name)).size).toBe(applied.length);
  return rows.map((row) => row.name);
};

const WHOLE = [
  ...["applied", "blob", "checkpoint", "conversation", "inbox", "input_anchor", "lifecycle_event", "message"],
  ...["model_call", "node", "request_binding", "run", "run_claim", "tool_call", "trace"],
];

describe("migrating", () => {
  it("makes the whole data model, and finds nothing to do the second time", async () => {
    await migrate(url);
    expect(await tables()).toEqual(WHOLE);
    await migrate(url);
    expect(await tables()).toEqual(WHOLE);
  });

  it("by several processes at once is done once", async () => {
    const script = `
      import { migrate } from "@chartroom/store";
      await migrate(process.argv[1]);`;
    const processes = Array.from({ length: 3 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", script, url], {
        cwd: import.meta.dirname,
        stdio: ["ignore", "ignore", "inherit"],
      }),
    );
    const ended = processes.map(async (child) => (await once(child, "exit"))[0] as number);
    expect(await Promise.all([...ended, migrate(url), migrate(url)])).toEqual([0, 0, 0, undefined, undefined]);
    expect(await tables()).toEqual(WHOLE);
  }, 30_000);

  it("waits for the one who is at it", async () => {
    const other = connect(url);
    await other`select pg_advisory_lock(${4_347_201_118})`;
    let done = false;
    const migrating = migrate(url).then(() => (done = true));
    const waiting = async (): Promise<number> =>
      (await other`select from pg_stat_activity where wait_event = 'advisory' and datname = ${name}`).length;
    await expect.poll(waiting, { timeout: 10_000 }).toBe(1);
    expect(done).toBe(false);
    await other.end();
    await migrating;
    expect(await tables()).toEqual(WHOLE);
  });

  it("of a database that is not there says so, without its password", async () => {
    const missing = new URL(databaseUrl(inject("postgres"), "missing"));
    missing.password = "sk-secret";
    const error: unknown = await migrate(missing.href).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "StoreError", code: "rejected", state: "3D000" });
    expect(`${String(error)} ${(error as Error).stack}`).not.toContain("sk-secret");
  });
});
