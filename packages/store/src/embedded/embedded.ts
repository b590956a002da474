import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../failure.ts";
import { type Account, chooseAccount, circumstances, giveTo } from "./account.ts";
import { binaryFolder } from "./binaries.ts";
import { folderOf, makeSocketFolder, socketUrl } from "./folder.ts";
import { initialize, launch, type LaunchOptions } from "./launch.ts";
import { takeFolder } from "./owner.ts";
import { endProcess, signalTo, stopLeftBehind } from "./postmaster.ts";

export interface EmbeddedOptions {
  /** `false`: nothing waits for the disk. For tests. Default `true`. */
  readonly durable?: boolean;
  /** As whom Postgres runs; by default what fits this process. */
  readonly account?: Account;
}

/** A real Postgres that this process started, on a Unix socket of its own. */
export interface Embedded {
  readonly dir: string;
  /** Its process now; another one after it ended by itself and was started again. */
  readonly pid: number;
  /** Address of one of its databases for `connect`, `migrate` and `openStore`; default `postgres`. */
  url(database?: string): string;
  /** Ends it in order and gives the folder back. */
  stop(): Promise<void>;
}

/** Between its unexpected end and the next start. */
const RESTART_MS = 500;

/**
 * Starts the database of a folder, and makes it first if there is none. One process has a folder: for a second one it throws
 * `folderInUse`. A Postgres whose owner was killed is ended and replaced. Should Postgres end by itself, it is started again,
 * until `stop`. What it says is in `postgres.log` in the folder.
 */
export async function startEmbedded(dir: string, options: EmbeddedOptions = {}): Promise<Embedded> {
  if (process.platform === "win32") {
    throw new StoreError("embedded", "the database that comes with the packages needs Unix sockets: set DATABASE_URL");
  }
  const folder = folderOf(path.resolve(dir));
  const account = options.account ?? chooseAccount(circumstances());
  const binaries = binaryFolder();
  fs.mkdirSync(folder.dir, { recursive: true });
  const ownership = takeFolder(folder.dir);
  let socketFolder: string | undefined;
  const giveBack = (): void => {
    if (socketFolder !== undefined) fs.rmSync(socketFolder, { recursive: true, force: true });
    ownership.release();
  };
  try {
    await stopLeftBehind(folder);
    giveTo(account, folder.dir);
    socketFolder = makeSocketFolder(folder.dir);
    giveTo(account, socketFolder);
    const how: LaunchOptions = { folder, binaries, account, socketFolder, durable: options.durable ?? true };
    initialize(how);
    return supervise(how, await launch(how), giveBack);
  } catch (error) {
    giveBack();
    throw error;
  }
}

function supervise(how: LaunchOptions, first: ChildProcess, giveBack: () => void): Embedded {
  let child = first;
  const stopping = new AbortController();
  let restarting: Promise<void> = Promise.resolve();
  // without `stop`: Postgres ends in order, though nobody waits for it
  const atExit = (): void => signalTo(child.pid!, "SIGINT");

  const restart = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sleep(RESTART_MS, undefined, { ref: false });
      try {
        if (!stopping.signal.aborted) watch(await launch(how));
        return;
      } catch {
        // its log says why; the next attempt may find it mended
      }
    }
  };
  const watch = (started: ChildProcess): void => {
    child = started;
    // it does not keep its owner alive
    child.unref();
    child.once("exit", () => {
      if (!stopping.signal.aborted) restarting = restart();
    });
  };
  watch(first);
  process.once("exit", atExit);

  return {
    dir: how.folder.dir,
    get pid() {
      return child.pid!;
    },
    url: (database) => socketUrl(how.socketFolder, database),
    async stop() {
      stopping.abort();
      await restarting;
      await endProcess(child.pid!);
      process.off("exit", atExit);
      giveBack();
    },
  };
}
