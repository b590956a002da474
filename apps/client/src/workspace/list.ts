import type { Dirent } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { git, splitNames } from "./git.ts";

/** Folders that are left out where no repository says what to ignore. */
const NEVER: ReadonlySet<string> = new Set([".git", ".hg", ".svn", "node_modules"]);
const MAX_FILES = 200_000;

export interface Listing {
  /** Relative to `root`, with `/`, sorted; not all of them need exist. */
  readonly files: readonly string[];
  /** There are more than this lists. */
  readonly incomplete: boolean;
}

/**
 * The files under `within` (relative to `root`) that are not ignored: what git lists in a repository, else all but
 * well-known folders. An ignored folder that is asked for by name is listed all the same.
 */
export async function listFiles(root: string, within: string): Promise<Listing> {
  const listed = await git(root, [
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
    "--deduplicate",
    "--",
    `:(literal)${within === "" ? "." : within}`,
  ]);
  const names = listed === undefined ? [] : splitNames(listed);
  if (names.length > 0) return bounded(names.toSorted(byName));
  return bounded((await walk(root, within)).toSorted(byName));
}

/** Those of `names` (relative to `root`) that git ignores; none outside a repository. */
export async function ignoredNames(root: string, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const output = await git(root, ["check-ignore", "-z", "--stdin"], `${names.join("\0")}\0`);
  return new Set(output === undefined ? [] : splitNames(output));
}

/** Whether a folder of this name is left out of listings outside a repository. */
export function isNeverListed(name: string): boolean {
  return NEVER.has(name);
}

function bounded(files: readonly string[]): Listing {
  return { files: files.slice(0, MAX_FILES), incomplete: files.length > MAX_FILES };
}

async function walk(root: string, within: string): Promise<string[]> {
  if (await isFile(path.join(root, within))) return [within];
  const files: string[] = [];
  const pending = [within];
  for (let folder = pending.shift(); folder !== undefined && files.length <= MAX_FILES; folder = pending.shift()) {
    for (const entry of await entries(path.join(root, folder))) {
      const relative = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) files.push(relative);
      else if (entry.isDirectory() && !isNeverListed(entry.name)) pending.push(relative);
    }
  }
  return files;
}

async function isFile(name: string): Promise<boolean> {
  return fs.lstat(name).then(
    (stat) => stat.isFile(),
    () => false,
  );
}

async function entries(folder: string): Promise<Dirent[]> {
  try {
    return await fs.readdir(folder, { withFileTypes: true });
  } catch {
    // a folder that may not be read holds nothing for us
    return [];
  }
}

function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
