import fs from "node:fs";
import path from "node:path";
import { migrate, runningEmbedded, startEmbedded } from "@chartroom/store";
import type { Config } from "./config/load.ts";

/** A database that is there for as long as nobody stops it. */
export interface OpenDatabase {
  readonly url: string;
  /** Where the data lies, for people. */
  readonly where: string;
  /** No other server can use it. */
  readonly alone: boolean;
  /** Stops what was started for it. */
  stop(): Promise<void>;
}

type Place = Pick<Config, "databaseUrl" | "dataFolder">;

const CONFIGURED = "the configured database";
const nothing = (): Promise<void> => Promise.resolve();

/** The database of a configuration: the one at its URL, or a Postgres of its own in the data folder. Its schema is up to date. */
export async function openDatabase({ databaseUrl, dataFolder }: Place): Promise<OpenDatabase> {
  if (databaseUrl !== undefined) {
    await migrate(databaseUrl);
    return { url: databaseUrl, where: CONFIGURED, alone: false, stop: nothing };
  }
  return startOwn(dataFolder);
}

/**
 * The same database for a look into it: that of a server which runs on the data folder, or, where none runs, started for the
 * time of the look. `undefined`: nothing was ever stored there.
 */
export async function visitDatabase({ databaseUrl, dataFolder }: Place): Promise<OpenDatabase | undefined> {
  if (databaseUrl !== undefined) return { url: databaseUrl, where: CONFIGURED, alone: false, stop: nothing };
  const folder = folderOf(dataFolder);
  const running = runningEmbedded(folder);
  if (running !== undefined) return { url: running, where: dataFolder, alone: false, stop: nothing };
  return fs.existsSync(folder) ? startOwn(dataFolder) : undefined;
}

async function startOwn(dataFolder: string): Promise<OpenDatabase> {
  const embedded = await startEmbedded(folderOf(dataFolder));
  try {
    await migrate(embedded.url());
  } catch (error) {
    await embedded.stop();
    throw error;
  }
  return { url: embedded.url(), where: dataFolder, alone: true, stop: () => embedded.stop() };
}

function folderOf(dataFolder: string): string {
  return path.join(dataFolder, "postgres");
}
