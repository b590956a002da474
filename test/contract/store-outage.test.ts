import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type {
  Barrier,
  BlobId,
  CheckpointId,
  ConversationId,
  ConversationStore,
  NodeId,
  RequestId,
  RunId,
  ToolCallId,
} from "@chartroom/domain";
import { type Embedded, migrate, openStore, startEmbedded, type Store } from "@chartroom/store";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../support/clock.ts";
import { createDatabase, type TestDatabase } from "../support/database.ts";
import { type Proxy, startProxy } from "./store-proxy.ts";
import { ANN, chart, fresh, inboxPut, take, textMessage, write } from "./store-samples.ts";

vi.setConfig({ testTimeout: 60_000 });

const ATTEMPT_MS = 400;
/** The bound, and what a busy machine may add. */
const BOUND_MS = ATTEMPT_MS + 2_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

let proxy: Proxy;
let opened: Store;
let store: ConversationStore;
beforeEach(async () => {
  proxy = await startProxy(database.url);
  opened = openStore({ url: proxy.url, nodeId: fresh("node") as NodeId, clock: systemClock, attemptMs: ATTEMPT_MS });
  store = opened.store;
});
afterEach(async () => {
  await opened.close();
  await proxy.close();
});

const timed = async (work: Promise<unknown>): Promise<{ readonly result: unknown; readonly ms: number }> => {
  const from = performance.now();
  const result = await work.catch((error: unknown) => error);
  return { result, ms: performance.now() - from };
};

/** Every method of the port, with something to answer. */
const calls = (held: Awaited<ReturnType<typeof take>>): Record<string, () => Promise<unknown>> => {
  const { lease } = held;
  const request = "request" as RequestId;
  return {
    activate: () => store.activate(lease.conversationId, ANN, { create: true }),
    commit: () => store.commit(lease, { messages: [textMessage("m")] }),
    bind: () => store.bind(ANN, request, lease.conversationId),
    release: () => store.release(lease),
    messages: () => store.messages(lease, "k" as CheckpointId),
    checkpoints: () => store.checkpoints(lease),
    checkpoint: () => store.checkpoint(lease, "k" as CheckpointId),
    anchors: () => store.anchors(lease),
    toolCalls: () => store.toolCalls(lease, "r" as RunId),
    run: () => store.run(lease, { runId: "r" as RunId }),
    blobs: () => store.blobs(ANN, ["b" as BlobId]),
    hasBlobs: () => store.hasBlobs(ANN, ["b" as BlobId]),
    nextGeneration: () => store.nextGeneration(ANN, request),
    binding: () => store.binding(ANN, request),
    parentOf: () => store.parentOf(ANN, request, "t" as ToolCallId),
    overdue: () => store.overdue(1, 1),
    inspect: () => store.inspect(lease.conversationId),
  };
};
const SAYS_UNAVAILABLE = new Set(["activate", "commit", "bind"]);

const expectAway = async (held: Awaited<ReturnType<typeof take>>): Promise<void> => {
  for (const [name, call] of Object.entries(calls(held))) {
    const { result, ms } = await timed(call());
    if (SAYS_UNAVAILABLE.has(name)) expect([name, result]).toEqual([name, { kind: "unavailable" }]);
    else
      expect([name, result]).toEqual([
        name,
        expect.objectContaining({ name: "StoreError", code: "unavailable", retryable: true }),
      ]);
    expect(ms, name).toBeLessThan(BOUND_MS);
  }
  expect(await opened.ready()).toBe(false);
};

describe("a database that is away", () => {
  it("is told by every method within the bound, and is found again when it is back", async () => {
    const id = fresh("c");
    const held = await take(store, id);
    await write(store, held, { chart: chart(id, "idle") });
    await proxy.cut();
    await expectAway(held);
    await proxy.mend();
    await write(store, held, { messages: [textMessage("m")] });
    expect(await opened.ready()).toBe(true);
    expect(await take(store, id)).toMatchObject({ chart: chart(id, "idle") });
  });

  it("from the start on is no other case", async () => {
    await proxy.cut();
    expect(await store.activate(fresh("c") as ConversationId, ANN, { create: true })).toEqual({ kind: "unavailable" });
    await proxy.mend();
    await take(store, fresh("c"));
  });

  it("without a word, as behind a broken network, is no other case", async () => {
    const held = await take(store, fresh("c"));
    proxy.holdAll();
    await expectAway(held);
    await proxy.mend();
    await write(store, held, { messages: [textMessage("m")] });
  });

  it("keeps a queue of commits of one conversation no longer than a few bounds", async () => {
    const held = await take(store, fresh("c"));
    proxy.holdAll();
    const all = await timed(
      Promise.all(Array.from({ length: 50 }, (_, n) => store.commit(held.lease, { inboxPut: [inboxPut(`k${n}`)] }))),
    );
    expect(all.result).toEqual(Array.from({ length: 50 }, () => ({ kind: "unavailable" })));
    expect(all.ms).toBeLessThan(2 * BOUND_MS);
  });
});

describe("a write that was given up on and arrives late", () => {
  it("changes nothing that was written since", async () => {
    const nodeId = fresh("node") as NodeId;
    const single = openStore({ url: proxy.url, nodeId, clock: systemClock, attemptMs: ATTEMPT_MS, connections: 1 });
    const id = fresh("c");
    const held = await take(single.store, id);
    // of one shape, so that the late one is prepared and goes out whole
    const step = (n: number): Barrier => ({
      ...{
        chart: chart(id, "modeling", { step: n }),
        inboxPut: [inboxPut(`key-${n}`)],
        messages: [textMessage(`m${n}`)],
      },
    });
    await write(single.store, held, step(1));
    proxy.hold();
    expect(await single.store.commit(held.lease, step(2))).toEqual({ kind: "unavailable" });
    await write(single.store, held, step(3));
    expect(await proxy.release()).toBeGreaterThan(0);

    expect(await single.store.inspect(id as ConversationId)).toMatchObject({
      messages: 2,
      chart: { context: { step: 3 } },
    });
    expect((await take(single.store, id)).inbox.map(({ key }) => key)).toEqual(["key-1", "key-3"]);
    await single.close();
  });
});

/** Kills the Postgres that runs now; if the one before is still being replaced, the next. */
async function killOnce(embedded: Embedded, killed: Set<number>): Promise<void> {
  const kill = (): boolean => {
    const { pid } = embedded;
    if (killed.has(pid)) return false;
    killed.add(pid);
    return process.kill(pid, "SIGKILL");
  };
  await expect.poll(kill, { timeout: 30_000 }).toBe(true);
}

describe("Postgres itself killed again and again", () => {
  it("has all that was acknowledged, once, and nothing needs to be started anew", async () => {
    const parent = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-outage-"));
    fs.chmodSync(parent, 0o755);
    const embedded = await startEmbedded(path.join(parent, "postgres"));
    await migrate(embedded.url());
    const node = openStore({ url: embedded.url(), nodeId: "node" as NodeId, clock: systemClock, attemptMs: 5_000 });
    try {
      const held = await take(node.store, "c");
      const acknowledged: string[] = [];
      const killed = new Set<number>();
      let unavailable = 0;
      for (let n = 0; n < 60; n++) {
        if (n % 20 === 10) await killOnce(embedded, killed);
        const key = `key-${n}`;
        const put = async (): Promise<string> => {
          const { kind } = await node.store.commit(held.lease, { inboxPut: [inboxPut(key)] });
          if (kind === "unavailable") unavailable++;
          return kind;
        };
        await expect.poll(put, { timeout: 30_000, interval: 20 }).toBe("committed");
        acknowledged.push(key);
      }
      expect([killed.size, unavailable > 0]).toEqual([3, true]);
      // a process of a killed Postgres may have served the last of them, and be gone only now
      const kept = async (): Promise<unknown> => {
        const again = await node.store.activate("c" as ConversationId, ANN, { create: false });
        return again.kind === "active" ? again.activation.inbox.map(({ key }) => key) : again.kind;
      };
      await expect.poll(kept, { timeout: 30_000, interval: 20 }).toEqual(acknowledged);
    } finally {
      await node.close();
      await embedded.stop();
      fs.rmSync(parent, { recursive: true, force: true });
    }
  });
});
