import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { connect, migrate, startEmbedded } from "@chartroom/store";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Address of the server's own database, from which `database.ts` makes others. */
    readonly postgres: string;
    /** Name of the database that holds the migrated schema and nothing else. */
    readonly template: string;
  }
}

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** The server of this process, and how many projects of the run use it. */
interface Shared {
  readonly started: Promise<Server>;
  users: number;
}

// each project loads this file anew, so what they share is where all of them find it
const KEY = Symbol.for("chartroom.test.postgres");
const shelf = globalThis as { [KEY]?: Shared };
const template = `template_${process.pid}`;

/**
 * One Postgres for a test run: the binaries that the product brings, without waiting for the disk; or the server that
 * TEST_DATABASE_URL names. The schema is migrated once, into a template that each test file's database is copied from.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = (shelf[KEY] ??= { started: start(process.env["TEST_DATABASE_URL"]), users: 0 });
  shared.users++;
  const { url, stop } = await shared.started;
  project.provide("postgres", url);
  project.provide("template", template);
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete shelf[KEY];
    await stop();
  };
}

/** The address of another database on the same server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function start(given: string | undefined): Promise<Server> {
  const server = given ? { url: given, stop: async () => {} } : await startServer();
  const run = async (statement: string): Promise<void> => {
    const sql = connect(server.url);
    try {
      await sql.unsafe(statement);
    } finally {
      await sql.end();
    }
  };
  const stop = async (): Promise<void> => {
    // a server that was given keeps nothing of the run
    await run(`drop database if exists ${template} with (force)`);
    await server.stop();
  };
  try {
    await run(`create database ${template}`);
    await migrate(databaseUrl(server.url, template));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: server.url, stop };
}

/** A server of its own, whose folder goes when it stops. */
export async function startServer(): Promise<Server> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-test-"));
  // Postgres may have to run as another user, who must get in here
  fs.chmodSync(folder, 0o755);
  const embedded = await startEmbedded(folder, { durable: false });
  return {
    url: embedded.url(),
    async stop() {
      await embedded.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}
