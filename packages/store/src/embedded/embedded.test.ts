import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connect } from "../connection.ts";
import { type Embedded, startEmbedded } from "./embedded.ts";
import { processIdentity } from "./process.ts";

// a start is a second on an idle machine
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let parent: string;
let dir: string;
const children: ChildProcess[] = [];
const started: Embedded[] = [];

beforeEach(() => {
  parent = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-embedded-"));
  // Postgres may have to run as another user, who must get in here
  fs.chmodSync(parent, 0o755);
  dir = path.join(parent, "postgres");
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const embedded of started.splice(0)) await embedded.stop();
  fs.rmSync(parent, { recursive: true, force: true });
});

const start = async (folder = dir, durable = false): Promise<Embedded> => {
  const embedded = await startEmbedded(folder, { durable });
  started.push(embedded);
  return embedded;
};

const query = async <T>(url: string, text: string): Promise<T[]> => {
  const sql = connect(url);
  try {
    return [...(await sql.unsafe<never[]>(text))];
  } finally {
    await sql.end();
  }
};

/** Another process that starts the database of the folder, runs a statement, and then lives until it is told otherwise. */
const owner = async (statement: string, end = ""): Promise<{ child: ChildProcess; postgres: number }> => {
  const script = `
    import { connect, startEmbedded } from ${JSON.stringify(new URL("../index.ts", import.meta.url).href)};
    const embedded = await startEmbedded(process.argv[1]);
    const sql = connect(embedded.url());
    await sql.unsafe(process.argv[2]);
    await sql.end();
    console.log(embedded.pid);
    process.stdin.on("data", () => { ${end} });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script, dir, statement], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  return { child, postgres: Number(String(said)) };
};

const kill = async (child: ChildProcess): Promise<void> => {
  child.kill("SIGKILL");
  await once(child, "exit");
};

describe("the embedded database", () => {
  it("is made at the first start, and keeps what is in it over the next", async () => {
    const first = await start();
    expect(first.dir).toBe(dir);
    await query(first.url(), "create table kept (n int); insert into kept values (7)");
    await first.stop();
    expect(processIdentity(first.pid)).toBeUndefined();
    expect(fs.readdirSync(dir).toSorted()).toEqual(["data", "postgres.log"]);
    const second = await start();
    expect(await query(second.url(), "select n from kept")).toEqual([{ n: 7 }]);
  });

  it("lets only its own user in, listens on no port, and writes durably unless it is told otherwise", async () => {
    const embedded = await start();
    const socket = path.join(dir, "socket");
    expect(fs.statSync(socket).mode & 0o777).toBe(0o700);
    expect(fs.statSync(path.join(dir, "data")).mode & 0o077).toBe(0);
    expect(await query(embedded.url(), "show listen_addresses")).toEqual([{ listen_addresses: "" }]);
    expect(await query(embedded.url(), "show fsync")).toEqual([{ fsync: "off" }]);
    await embedded.stop();
    const durable = await startEmbedded(dir);
    started.push(durable);
    expect(await query(durable.url(), "show fsync")).toEqual([{ fsync: "on" }]);
    expect(await query(durable.url(), "show synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
    expect(await query(durable.url(), "show full_page_writes")).toEqual([{ full_page_writes: "on" }]);
  });

  it("logs what happens, and no contents", async () => {
    const embedded = await start();
    await query(embedded.url(), "create table kept (n text unique); insert into kept values ('sk-secret')");
    await expect(query(embedded.url(), "insert into kept values ('sk-secret')")).rejects.toThrow("duplicate key");
    await expect(query(embedded.url(), "select 'sk-secret'::int")).rejects.toThrow("invalid input syntax");
    const log = fs.readFileSync(path.join(dir, "postgres.log"), "utf8");
    expect(log).toContain("ready to accept connections");
    expect(log).not.toMatch(/sk-secret|kept/);
  });

  it("of a folder too deep for a socket has its socket elsewhere, and takes it away again", async () => {
    const deep = path.join(dir, "x".repeat(60), "y".repeat(60));
    const embedded = await start(deep);
    const folder = new URL(embedded.url()).searchParams.get("host")!;
    expect(folder.startsWith(deep)).toBe(false);
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
    expect(await query(embedded.url(), "select 1 as n")).toEqual([{ n: 1 }]);
    await embedded.stop();
    expect(fs.existsSync(folder)).toBe(false);
  });

  it("begins anew when the making of it was cut short", async () => {
    fs.mkdirSync(path.join(dir, "data.unfinished"), { recursive: true });
    fs.writeFileSync(path.join(dir, "data.unfinished", "PG_VERSION"), "18\n");
    const embedded = await start();
    expect(await query(embedded.url(), "select 1 as n")).toEqual([{ n: 1 }]);
    expect(fs.existsSync(path.join(dir, "data.unfinished"))).toBe(false);
  });

  it("that cannot start says why, and leaves the folder to the next", async () => {
    await (await start()).stop();
    const version = path.join(dir, "data", "PG_VERSION");
    fs.writeFileSync(version, "11\n");
    await expect(startEmbedded(dir)).rejects.toMatchObject({
      ...{ code: "embedded", retryable: false },
      message: expect.stringMatching(/did not start: .*(incompatible|version 11)/),
    });
    fs.writeFileSync(version, "18\n");
    await start();
  });
});

describe("a second owner", () => {
  it("in the same process and in another is refused by name; the first goes on", async () => {
    const embedded = await start();
    await expect(startEmbedded(dir)).rejects.toMatchObject({
      code: "folderInUse",
      message: expect.stringContaining(dir),
    });
    const script = `
      import { startEmbedded } from ${JSON.stringify(new URL("../index.ts", import.meta.url).href)};
      try { await startEmbedded(process.argv[1]); } catch (error) { console.log(error.code, error.message); }`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, dir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    expect(String(said)).toContain(`folderInUse the database in ${dir} is in use by process ${process.pid}: `);
    expect(await query(embedded.url(), "select 1 as n")).toEqual([{ n: 1 }]);
  });
});

describe("after kill -9", () => {
  it("of its owner Postgres lives on; the next owner ends it and finds all that was committed", async () => {
    const { child, postgres } = await owner("create table kept (n int); insert into kept values (7)");
    await kill(child);
    expect(processIdentity(postgres)).toBeDefined();
    const embedded = await start();
    expect(processIdentity(postgres)).toBeUndefined();
    expect(embedded.pid).not.toBe(postgres);
    expect(await query(embedded.url(), "select n from kept")).toEqual([{ n: 7 }]);
  });

  it("of both, the next owner finds all that was committed", async () => {
    const { child, postgres } = await owner("create table kept (n int); insert into kept values (7)");
    await kill(child);
    process.kill(postgres, "SIGKILL");
    const embedded = await start();
    expect(await query(embedded.url(), "select n from kept")).toEqual([{ n: 7 }]);
  });

  it("a number that now belongs to another process does not hurt that one", async () => {
    await (await start()).stop();
    const other = spawn("sleep", ["60"]);
    children.push(other);
    await once(other, "spawn");
    const pidFile = path.join(dir, "data", "postmaster.pid");
    fs.writeFileSync(pidFile, `${other.pid}\n${path.join(dir, "data")}\n1700000000\n5432\n\n\n\nready   \n`);
    const embedded = await start();
    expect(await query(embedded.url(), "select 1 as n")).toEqual([{ n: 1 }]);
    expect(processIdentity(other.pid!)).toBeDefined();
    expect(other.exitCode).toBeNull();
  });

  it("of Postgres alone, it is started again at the same address", async () => {
    const embedded = await start(dir, true);
    await query(embedded.url(), "create table kept (n int)");
    const before = embedded.pid;
    process.kill(before, "SIGKILL");
    const answers = async (): Promise<unknown> =>
      query(embedded.url(), "select count(*)::int as n from kept").catch(() => undefined);
    await expect.poll(answers, { timeout: 20_000, interval: 100 }).toEqual([{ n: 0 }]);
    expect(embedded.pid).not.toBe(before);
  });
});

describe("an owner that ends", () => {
  it("without stopping its Postgres ends it all the same", async () => {
    const { child, postgres } = await owner("select 1", "process.exit()");
    child.stdin!.write("end\n");
    await once(child, "exit");
    await expect.poll(() => processIdentity(postgres), { timeout: 10_000 }).toBeUndefined();
  });

  it("is not kept alive by its Postgres", async () => {
    const { child, postgres } = await owner("select 1", "process.stdin.destroy()");
    child.stdin!.write("end\n");
    await once(child, "exit");
    await expect.poll(() => processIdentity(postgres), { timeout: 10_000 }).toBeUndefined();
  });
});
