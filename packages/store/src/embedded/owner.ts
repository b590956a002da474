import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { StoreError } from "../failure.ts";
import { processIdentity } from "./process.ts";

/** What an owner file says. */
interface Owner {
  readonly pid: number;
  readonly identity: string;
  /** Different for every taking. */
  readonly token: string;
}

export interface Ownership {
  /** Another owner was here before and did not give the folder back. */
  readonly afterCrash: boolean;
  release(): void;
}

/** How often a file may change under our eyes before we give up. */
const TRIES = 10;

/**
 * Takes a folder for this process, or throws `folderInUse`. The owner's file appears whole or not at all (`link` of a
 * finished file). The file of an owner that is gone may be replaced by one taker only: the one that gets to create the
 * file named after the token of what it replaces.
 */
export function takeFolder(dir: string): Ownership {
  const file = path.join(dir, "owner.json");
  const owner: Owner = {
    pid: process.pid,
    identity: processIdentity(process.pid) ?? "",
    token: randomBytes(12).toString("hex"),
  };
  const own = path.join(dir, `owner-${owner.token}.tmp`);
  fs.writeFileSync(own, JSON.stringify(owner));
  try {
    for (let at = 0; at < TRIES; at++) {
      if (tryLink(own, file)) return ownership(file, owner, false);
      const other = readOwner(file);
      if (other === undefined) continue;
      if (lives(other)) throw inUse(dir, other);
      if (replace(file, own, other)) return ownership(file, owner, true);
    }
    throw new StoreError("folderInUse", `${dir} is being taken by several processes at once: start one of them again`);
  } finally {
    fs.rmSync(own, { force: true });
  }
}

function ownership(file: string, owner: Owner, afterCrash: boolean): Ownership {
  return {
    afterCrash,
    release() {
      if (readOwner(file)?.token === owner.token) fs.rmSync(file, { force: true });
    },
  };
}

function replace(file: string, own: string, other: Owner): boolean {
  const claim = `${file}.${other.token}`;
  if (!tryLink(own, claim)) {
    const claimant = readOwner(claim);
    // who wanted to replace it has died as well
    if (claimant !== undefined && !lives(claimant)) fs.rmSync(claim, { force: true });
    return false;
  }
  try {
    // whoever replaced it before us has taken its claim away, and the file no longer has that token
    if (readOwner(file)?.token !== other.token) return false;
    fs.copyFileSync(own, `${own}.2`);
    fs.renameSync(`${own}.2`, file);
    return true;
  } finally {
    fs.rmSync(claim, { force: true });
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    fs.linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** `undefined`: there is no such file. One that cannot be read (the machine lost its power) has no living owner. */
function readOwner(file: string): Owner | undefined {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8")) as Owner;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    return { pid: 0, identity: "unreadable", token: "unreadable" };
  }
}

function lives(owner: Owner): boolean {
  return processIdentity(owner.pid) === owner.identity;
}

function inUse(dir: string, owner: Owner): StoreError {
  const who = owner.pid === process.pid ? "this process already" : `process ${owner.pid}`;
  return new StoreError(
    "folderInUse",
    `the database in ${dir} is in use by ${who}: stop that one, set CHARTROOM_DATA to another folder, or give both one DATABASE_URL`,
  );
}
