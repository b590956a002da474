import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** The user that is nobody, on every Unix. */
const NOBODY = 65_534;

/**
 * As whom Postgres runs, which refuses to be root, and to be a number without a name.
 * - `self`: as this process.
 * - `namespace`: in a user namespace in which this process's user is called nobody. Its files stay this user's, in any folder.
 * - `nobody`: this process is root and may make no namespaces; Postgres really becomes nobody, the folder becomes nobody's.
 */
export type Account = "self" | "namespace" | "nobody";

/** What the choice depends on; `namespaces` is asked only where it matters. */
export interface Circumstances {
  readonly uid: number | undefined;
  /** The user has an entry among the system's users; in a container it may have none. */
  readonly named: boolean;
  namespaces(): boolean;
}

export function chooseAccount({ uid, named, namespaces }: Circumstances): Account {
  if (uid === undefined || (uid !== 0 && named)) return "self";
  if (namespaces()) return "namespace";
  return uid === 0 ? "nobody" : "self";
}

export function circumstances(): Circumstances {
  return { uid: process.getuid?.(), named: hasName(), namespaces: canUnshare };
}

function hasName(): boolean {
  try {
    return os.userInfo().username !== "";
  } catch {
    return false;
  }
}

const UNSHARE = ["unshare", "--user", `--map-user=${NOBODY}`, `--map-group=${NOBODY}`] as const;

/** Whether this machine lets this user make user namespaces. */
function canUnshare(): boolean {
  const [command, ...args] = UNSHARE;
  return spawnSync(command, [...args, "true"], { stdio: "ignore" }).status === 0;
}

/** How to start a program as an account. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: { readonly uid?: number; readonly gid?: number };
}

export function startAs(account: Account, file: string, args: readonly string[]): Start {
  if (account === "namespace") {
    const [command, ...own] = UNSHARE;
    return { command, args: [...own, file, ...args], options: {} };
  }
  return { command: file, args, options: account === "nobody" ? { uid: NOBODY, gid: NOBODY } : {} };
}

/** Gives a folder and all in it to the account, where that is another user than this process. */
export function giveTo(account: Account, file: string): void {
  if (account !== "nobody") return;
  fs.lchownSync(file, NOBODY, NOBODY);
  if (!fs.lstatSync(file).isDirectory()) return;
  for (const name of fs.readdirSync(file)) giveTo(account, path.join(file, name));
}
