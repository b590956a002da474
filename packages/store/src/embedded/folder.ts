import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** The files of an embedded database: `data` is Postgres's own, `postgres.log` what it says, `socket` where it listens. */
export interface Folder {
  readonly dir: string;
  readonly data: string;
  /** Where `initdb` works; becomes `data` when it is done, so that a half-made database is never taken for one. */
  readonly unfinished: string;
  readonly log: string;
  readonly postmasterPid: string;
}

export function folderOf(dir: string): Folder {
  const data = path.join(dir, "data");
  return {
    dir,
    data,
    unfinished: path.join(dir, "data.unfinished"),
    log: path.join(dir, "postgres.log"),
    postmasterPid: path.join(data, "postmaster.pid"),
  };
}

/** The shortest limit of a socket's path among the platforms (macOS), and what Postgres adds to the folder. */
const LONGEST_PATH = 103;
const SOCKET_FILE = "/.s.PGSQL.5432.lock";

/**
 * Where the socket goes: into the folder, or, where that is too deep for the path of a socket, into a new folder under the
 * system's temporary one. Only this user may enter it: whoever can reach the socket is the database's superuser.
 */
export function makeSocketFolder(dir: string): string {
  const inside = path.join(dir, "socket");
  if (Buffer.byteLength(inside + SOCKET_FILE) > LONGEST_PATH) {
    return fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-pg-"));
  }
  fs.rmSync(inside, { recursive: true, force: true });
  fs.mkdirSync(inside, { mode: 0o700 });
  return inside;
}

/** Address of a database behind a socket. */
export function socketUrl(socketFolder: string, database = "postgres"): string {
  return `postgres://postgres@localhost/${database}?host=${encodeURIComponent(socketFolder)}`;
}

const LOG_LIMIT = 8 * 1024 * 1024;

/** Opens the log for appending; a long one is put aside first, in place of the one put aside before. */
export function openLog(folder: Folder): number {
  if (fs.existsSync(folder.log) && fs.statSync(folder.log).size > LOG_LIMIT)
    fs.renameSync(folder.log, `${folder.log}.1`);
  return fs.openSync(folder.log, "a", 0o600);
}

/** The last lines of the log, for an error: the settings of `launch` keep contents out of it. */
export function endOfLog(folder: Folder, from: number): string {
  try {
    return fs.readFileSync(folder.log).subarray(from).toString("utf8").trim().split("\n").slice(-5).join(" | ");
  } catch {
    return "";
  }
}

export function logSize(folder: Folder): number {
  return fs.existsSync(folder.log) ? fs.statSync(folder.log).size : 0;
}
