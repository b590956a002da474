import { randomBytes } from "node:crypto";
import type { NodeId } from "@chartroom/domain";
import { connect, openStore, type Store } from "@chartroom/store";
import { inject, test as base } from "vitest";
import { systemClock } from "./clock.ts";
import { databaseUrl } from "./postgres.setup.ts";

/** A database with the current schema and no rows. */
export interface TestDatabase {
  readonly url: string;
  /** Ends what still uses it and removes it. */
  drop(): Promise<void>;
}

/** Makes a database of its own, copied from the migrated template (about 40 ms). Whoever makes it drops it. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `t_${randomBytes(6).toString("hex")}`;
  await administer((sql) => sql.unsafe(`create database ${name} template ${inject("template")}`));
  return {
    url: databaseUrl(inject("postgres"), name),
    drop: () => administer((sql) => sql.unsafe(`drop database if exists ${name} with (force)`)),
  };
}

async function administer(use: (sql: ReturnType<typeof connect>) => PromiseLike<unknown>): Promise<void> {
  const sql = connect(inject("postgres"));
  try {
    await use(sql);
  } finally {
    await sql.end();
  }
}

/** A node's store, and the name of the node. */
export interface TestNode extends Store {
  readonly nodeId: NodeId;
}

/**
 * vitest's `test` with a database per file: `url` is its address; `node` is a store on it whose lease is renewed while the
 * file runs; `openNode` opens further nodes on it, which are closed at the end of the file.
 */
export const test = base.extend<{ url: string; openNode: () => Promise<TestNode>; node: TestNode }>({
  url: [
    // oxlint-disable-next-line no-empty-pattern -- vitest reads the names of the fixtures it needs off this pattern
    async ({}, use) => {
      const database = await createDatabase();
      await use(database.url);
      await database.drop();
    },
    { scope: "file" },
  ],
  openNode: [
    async ({ url }, use) => {
      const opened: TestNode[] = [];
      await use(async () => {
        const nodeId = `node-${randomBytes(6).toString("hex")}` as NodeId;
        const store = openStore({ url, nodeId, clock: systemClock });
        opened.push({ ...store, nodeId });
        await store.nodeLease.start();
        return { ...store, nodeId };
      });
      for (const node of opened) {
        await node.nodeLease.stop();
        await node.close();
      }
    },
    { scope: "file" },
  ],
  node: [async ({ openNode }, use) => use(await openNode()), { scope: "file" }],
});
