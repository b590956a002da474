import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../failure.ts";
import { type Account, giveTo, startAs } from "./account.ts";
import { endOfLog, type Folder, logSize, openLog } from "./folder.ts";
import { endProcess, readPostmaster } from "./postmaster.ts";

export interface LaunchOptions {
  readonly folder: Folder;
  readonly binaries: string;
  readonly account: Account;
  readonly socketFolder: string;
  readonly durable: boolean;
}

/** How long a start may take; recovery after a crash is part of it. */
const START_MS = 120_000;
/** How long the last processes of a Postgres that was killed may take to notice. */
const REMAINS_MS = 10_000;

/** Makes the database, unless it is there. Throws `embedded`. */
export function initialize({ folder, binaries, account, durable }: LaunchOptions): void {
  if (fs.existsSync(path.join(folder.data, "PG_VERSION"))) return;
  fs.rmSync(folder.unfinished, { recursive: true, force: true });
  fs.mkdirSync(folder.unfinished, { mode: 0o700 });
  giveTo(account, folder.unfinished);
  const { command, args, options } = startAs(account, path.join(binaries, "initdb"), [
    ...["-D", folder.unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"],
    ...(durable ? [] : ["--no-sync"]),
  ]);
  const done = spawnSync(command, args, { ...options, cwd: folder.dir, env: environment(), encoding: "utf8" });
  if (done.status !== 0) {
    const why = done.error?.message ?? done.stderr.trim().split("\n").slice(-3).join(" | ");
    const hint =
      account === "nobody" ? "; Postgres refuses to be root, and nobody must be able to reach the folder" : "";
    throw new StoreError("embedded", `the database in ${folder.dir} could not be made: ${why}${hint}`);
  }
  fs.renameSync(folder.unfinished, folder.data);
}

/** Starts Postgres and waits until it takes connections. Throws `embedded`, with the end of its log. */
export async function launch(options: LaunchOptions): Promise<ChildProcess> {
  for (let waited = 0; ; waited += 200) {
    const from = logSize(options.folder);
    const child = start(options);
    if (await untilReady(options.folder, child)) return child;
    const said = endOfLog(options.folder, from);
    // what a killed Postgres leaves holds its memory for a moment
    if (!said.includes("pre-existing shared memory block") || waited >= REMAINS_MS) {
      throw new StoreError("embedded", `the database in ${options.folder.dir} did not start: ${said}`);
    }
    await sleep(200);
  }
}

function start({ folder, binaries, account, socketFolder, durable }: LaunchOptions): ChildProcess {
  const settings: Record<string, string> = {
    listen_addresses: "",
    unix_socket_permissions: "0700",
    max_connections: "200",
    // a refused statement is told to its client; in the log its text, and the values in it, have no place
    log_min_messages: "log",
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  const { command, args, options } = startAs(account, path.join(binaries, "postgres"), [
    ...["-D", folder.data, "-k", socketFolder],
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ]);
  const log = openLog(folder);
  try {
    // a group of its own: Ctrl-C in a terminal must not reach it before its owner has drained
    return spawn(command, args, {
      ...options,
      cwd: folder.dir,
      env: environment(),
      stdio: ["ignore", log, log],
      detached: true,
    });
  } finally {
    fs.closeSync(log);
  }
}

async function untilReady(folder: Folder, child: ChildProcess): Promise<boolean> {
  const ended = new AbortController();
  child.once("exit", () => ended.abort());
  child.once("error", () => ended.abort());
  for (let waited = 0; waited < START_MS && !ended.signal.aborted; waited += 10) {
    const postmaster = readPostmaster(folder);
    if (postmaster?.ready === true && postmaster.pid === child.pid) return true;
    await sleep(10);
  }
  if (!ended.signal.aborted && child.pid !== undefined) await endProcess(child.pid);
  return false;
}

/** Nothing of this process's environment but the path: `PG*` variables would change the database's behaviour, and secrets are in it. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], LC_ALL: "C" };
}
