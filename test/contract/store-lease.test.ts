import type { ConversationId, NodeId } from "@chartroom/domain";
import { connect, openStore, type Sql, type Store } from "@chartroom/store";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../support/clock.ts";
import { createDatabase, type TestDatabase } from "../support/database.ts";
import { type ManualClock, manualClock } from "./store-clock.ts";
import { type Proxy, startProxy } from "./store-proxy.ts";
import { ANN, fresh, take, textMessage, write } from "./store-samples.ts";

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url);
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

let proxy: Proxy;
let clock: ManualClock;
let nodeId: NodeId;
let opened: Store;
let lost: number;
beforeEach(async () => {
  proxy = await startProxy(database.url);
  clock = manualClock();
  nodeId = fresh("node") as NodeId;
  opened = openStore({ url: proxy.url, nodeId, clock });
  lost = 0;
  opened.nodeLease.onLost(() => lost++);
});
afterEach(async () => {
  await proxy.mend();
  await opened.nodeLease.stop();
  await opened.close();
  await proxy.close();
});

/** When the lease ends by the database's clock, in ms since the epoch; `undefined`: there is none. */
const until = async (id = nodeId): Promise<number | undefined> => {
  const [row] = await sql<
    { ms: string }[]
  >`select (extract(epoch from lease_until) * 1000)::bigint as ms from node where id = ${id}`;
  return row && Number(row.ms);
};
const databaseNow = async (): Promise<number> => {
  const [row] = await sql<{ ms: string }[]>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`;
  return Number(row!.ms);
};
/** Waits until that many timers are set: two while a lease holds and its next renewal is due, one when it does not. */
const timers = (count: number): Promise<void> => expect.poll(() => clock.pending, { timeout: 10_000 }).toBe(count);
/** Moves the clock by one beat and waits until the database has the renewal. */
const beat = async (): Promise<void> => {
  const before = await until();
  clock.advance(2_000);
  await expect.poll(() => until(), { timeout: 10_000 }).toBeGreaterThan(before!);
  // its answer is here as well: the bound of the attempt is gone, the next beat and the end are set
  await timers(2);
};

describe("a node's lease", () => {
  it("holds six seconds by the database's clock, and is renewed every two", async () => {
    expect(opened.nodeLease.node).toBe(nodeId);
    expect(opened.nodeLease.held()).toBe(false);
    const before = await databaseNow();
    await opened.nodeLease.start();
    const after = await databaseNow();
    expect(opened.nodeLease.held()).toBe(true);
    expect(await until()).toBeGreaterThanOrEqual(before + 6_000);
    expect(await until()).toBeLessThanOrEqual(after + 6_000);
    for (let n = 0; n < 5; n++) await beat();
    expect(opened.nodeLease.held()).toBe(true);
    expect(lost).toBe(0);
  });

  it("that cannot be renewed ends at its time, is told once, and is taken up again when the database is back", async () => {
    await opened.nodeLease.start();
    await beat();
    const sent = clock.now();
    await proxy.cut();
    const fail = async (ms: number, waiting: number): Promise<void> => {
      clock.advance(ms);
      await timers(waiting);
    };
    await fail(2_000, 2);
    while (clock.now() < sent + 5_500) await fail(500, 2);
    expect([opened.nodeLease.held(), lost]).toEqual([true, 0]);
    clock.advance(499);
    expect([opened.nodeLease.held(), lost]).toEqual([true, 0]);
    await fail(1, 1);
    expect([opened.nodeLease.held(), lost]).toEqual([false, 1]);
    await fail(500, 1);
    expect(lost).toBe(1);

    await proxy.mend();
    clock.advance(500);
    await expect.poll(() => opened.nodeLease.held(), { timeout: 10_000 }).toBe(true);
    expect(lost).toBe(1);
  });

  it("survives an attempt that gets no answer: others fit into its time", async () => {
    await opened.nodeLease.start();
    const sent = clock.now();
    proxy.hold();
    // the attempt, its bound, and the next one, which takes a new connection
    clock.advance(2_000);
    clock.advance(1_000);
    await timers(2);
    clock.advance(500);
    await timers(2);
    clock.advance(sent + 6_000 - clock.now());
    expect([opened.nodeLease.held(), lost]).toEqual([true, 0]);
  });

  it("counts from when a renewal was sent, however late its answer comes", async () => {
    await opened.nodeLease.start();
    proxy.delay();
    clock.advance(2_000);
    clock.advance(900);
    proxy.deliver();
    await timers(2);
    // sent at 2 s
    clock.freeze(5_099);
    expect(opened.nodeLease.held()).toBe(true);
    clock.freeze(1);
    expect(opened.nodeLease.held()).toBe(false);
  });

  it("is over for a process that was frozen before any timer of it has run", async () => {
    await opened.nodeLease.start();
    clock.freeze(5_999);
    expect(opened.nodeLease.held()).toBe(true);
    clock.freeze(1);
    expect([opened.nodeLease.held(), lost]).toEqual([false, 0]);
    clock.advance(0);
    expect(lost).toBe(1);
  });

  it("ends at its time though the clock was set back, and stays ended", async () => {
    await opened.nodeLease.start();
    proxy.hold();
    clock.setBack(60_000);
    clock.advance(5_999);
    expect([opened.nodeLease.held(), lost]).toEqual([true, 0]);
    clock.advance(1);
    expect([opened.nodeLease.held(), lost]).toEqual([false, 1]);
  });

  it("given back lets another node have the conversations at once", async () => {
    await opened.nodeLease.start();
    const id = fresh("c") as ConversationId;
    const held = await take(opened.store, id);
    const other = openStore({ url: database.url, nodeId: fresh("node") as NodeId, clock: systemClock });
    expect(await other.store.activate(id, ANN, { create: false })).toEqual({ kind: "elsewhere", node: nodeId });
    await opened.nodeLease.stop();
    expect([opened.nodeLease.held(), await until(), clock.pending]).toEqual([false, undefined, 0]);
    await write(other.store, await take(other.store, id), { messages: [textMessage("m")] });
    expect(await opened.store.commit(held.lease, {})).toEqual({ kind: "fenced" });
    await other.close();
    expect(lost).toBe(0);
  });

  it("given back while a renewal is under way is not renewed any more", async () => {
    await opened.nodeLease.start();
    proxy.delay();
    clock.advance(2_000);
    const stopped = opened.nodeLease.stop();
    proxy.deliver();
    await stopped;
    expect([opened.nodeLease.held(), await until(), clock.pending]).toEqual([false, undefined, 0]);
  });

  it("given back without a database ends by itself", async () => {
    await opened.nodeLease.start();
    await proxy.cut();
    await opened.nodeLease.stop();
    expect([opened.nodeLease.held(), typeof (await until()), lost]).toEqual([false, "number", 0]);
  });

  it("of a node that is alone with the database ends those of all others", async () => {
    await opened.nodeLease.start();
    const id = fresh("c") as ConversationId;
    const held = await take(opened.store, id);
    const next = openStore({ url: database.url, nodeId: fresh("node") as NodeId, clock: systemClock, alone: true });
    await next.nodeLease.start();
    await write(next.store, await take(next.store, id), { messages: [textMessage("alone")] });
    expect(await opened.store.commit(held.lease, {})).toEqual({ kind: "fenced" });
    await next.nodeLease.stop();
    await next.close();
  });

  it("cannot start without a database", async () => {
    await proxy.cut();
    await expect(opened.nodeLease.start()).rejects.toMatchObject({
      name: "StoreError",
      code: "unavailable",
      retryable: true,
    });
    expect([opened.nodeLease.held(), clock.pending]).toEqual([false, 0]);
  });

  it("forgets nodes that ended long ago, and no others", async () => {
    await sql`insert into node values ('long ago', now() - interval '2 days'), ('just now', now() - interval '1 minute')`;
    await opened.nodeLease.start();
    expect([await until("long ago" as NodeId), await until("just now" as NodeId)]).toEqual([
      undefined,
      expect.any(Number),
    ]);
  });
});
