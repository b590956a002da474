import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

/** The user that is nobody, on every Unix. */
const NOBODY = 65_534;

/**
 * As whom Postgres runs, which refuses to be root.
 * - `self`: as this process.
 * - `namespace`: this process is root; a user namespace in which root is called nobody. Files stay root's, in any folder.
 * - `nobody`: this process is root and may make no namespaces; Postgres really becomes nobody, the folder becomes nobody's.
 */
export type Account = "self" | "namespace" | "nobody";

export function chooseAccount(uid: number | undefined, namespaces: () => boolean): Account {
  if (uid !== 0) return "self";
  return namespaces() ? "namespace" : "nobody";
}

const UNSHARE = ["unshare", "--user", `--map-user=${NOBODY}`, `--map-group=${NOBODY}`] as const;

/** Whether this machine lets root make user namespaces. */
export function canUnshare(): boolean {
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
