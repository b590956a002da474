import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../failure.ts";
import type { Folder } from "./folder.ts";
import { commandLine, processIdentity } from "./process.ts";

/** What `postmaster.pid` says: its 1st line is the process, its 5th the folder of the socket, its 8th the state. */
export interface Postmaster {
  readonly pid: number;
  readonly socketFolder: string;
  readonly ready: boolean;
}

export function readPostmaster(folder: Folder): Postmaster | undefined {
  try {
    const lines = fs.readFileSync(folder.postmasterPid, "utf8").split("\n");
    const pid = Number(lines[0]);
    if (!Number.isInteger(pid) || pid <= 0) return undefined;
    return { pid, socketFolder: lines[4] ?? "", ready: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

const FAST_MS = 30_000;
const AT_ONCE_MS = 10_000;

/** A process number beyond what any system gives. */
const NOBODYS_PID = 2_147_483_646;
/** How long a process may take to die once it has lost its memory and with it its command line. */
const DYING_MS = 5_000;

/**
 * Ends the Postgres that an owner left behind, if there is one. Its file stays: by it Postgres finds out whether its last
 * processes still hold the database's memory, and does not start beside them. Only the number is taken out of it, since
 * Postgres would wait for whoever has it: another process since, or a dead one that nobody collects.
 */
export async function stopLeftBehind(folder: Folder): Promise<void> {
  const left = readPostmaster(folder);
  if (left === undefined) return;
  const identity = processIdentity(left.pid);
  if (identity !== undefined && commandLine(left.pid) === undefined) await gone(left.pid, identity, DYING_MS);
  if (isPostgresOf(folder, left.pid)) await endProcess(left.pid);
  if (readPostmaster(folder)?.pid !== left.pid) return;
  const text = fs.readFileSync(folder.postmasterPid, "utf8");
  fs.writeFileSync(folder.postmasterPid, text.replace(/^\d+/, String(NOBODYS_PID)));
}

/** Ends a Postgres in order (its clients are cut off), and if that takes too long, at once. */
export async function endProcess(pid: number): Promise<void> {
  const identity = processIdentity(pid);
  if (identity === undefined) return;
  for (const [signal, ms] of [["SIGINT", FAST_MS] as const, ["SIGQUIT", AT_ONCE_MS] as const]) {
    signalTo(pid, signal);
    if (await gone(pid, identity, ms)) return;
  }
  throw new StoreError("embedded", `Postgres (process ${pid}) does not end: end it by hand and start again`);
}

export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // it was faster
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

async function gone(pid: number, identity: string, ms: number): Promise<boolean> {
  for (let waited = 0; waited < ms; waited += 20) {
    if (processIdentity(pid) !== identity) return true;
    await sleep(20);
  }
  return false;
}

export function isPostgresOf(folder: Folder, pid: number): boolean {
  const command = commandLine(pid);
  if (command === undefined || path.basename(command.split(" ")[0]!) !== "postgres") return false;
  return command.includes(` -D ${folder.data} `);
}
