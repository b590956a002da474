import type {
  Activation,
  Barrier,
  BlobId,
  CheckpointId,
  ConversationStore,
  Lease,
  RunId,
  RunRow,
  ToolCallId,
} from "@chartroom/domain";
import type { StoreError } from "@chartroom/store";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../support/database.ts";
import { postgresAdapter, type StoreAdapter, type StoreNode } from "./store-adapter.ts";
import { ConversationModel } from "./store-model.ts";
import {
  ANN,
  anchor,
  chart,
  checkpoint,
  fresh,
  inboxPut,
  runRow,
  shown,
  take,
  textMessage,
  toolCall,
  toolResult,
  transition,
  write,
} from "./store-samples.ts";

/** Few ids, so that repeats, conflicts and branches are the rule. Each property run names its own conversation. */
const few = (prefix: string, count = 4) => fc.integer({ min: 1, max: count }).map((n) => `${prefix}${n}`);
const some = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 4 });
const data = fc.uint8Array({ maxLength: 6 });
const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom("\0", "\ud800", "\\", '"', "é", "😀"), fc.string()),
  maxLength: 8,
});
const status = fc.constantFrom<RunRow["status"]>(
  "waiting",
  "running",
  "completed",
  "cancelled",
  "failed",
  "superseded",
);

const runFields = fc.record(
  {
    status,
    generation: fc.integer({ min: 1, max: 3 }),
    parkDeadline: fc.constantFrom(0, 7_000, 8_000),
    endedAt: fc.integer({ min: 1, max: 5 }),
    delivered: fc.boolean(),
    failureCode: fc.constantFrom("CANCELLED", "INTERNAL"),
    wireRunIds: fc.array(few("wire") as fc.Arbitrary<never>, { maxLength: 2 }),
    finalHead: few("k") as fc.Arbitrary<never>,
    partial: fc.option(anyText.map((text) => shown(text))),
  },
  { requiredKeys: [] },
);

/** Nodes point to lower ones only, as a chain that grows does. */
const node = fc
  .record({
    n: fc.integer({ min: 1, max: 5 }),
    below: fc.integer({ min: 0, max: 4 }),
    added: fc.array(few("m"), { maxLength: 3 }),
    wireState: fc.option(data),
    delivered: fc.boolean(),
  })
  .map(({ n, below, added, wireState, delivered }) => {
    const parent = Math.min(below, n - 1);
    const made = checkpoint(`k${n}`, parent === 0 ? undefined : checkpoint(`k${parent}`, undefined, []), added);
    return { ...made, delivered, ...(wireState === null ? {} : { wireState }) };
  });

/** A barrier by bare names, so that a counterexample can be read; a Run is changed at most once. */
const plan = fc.record(
  {
    chart: fc.record({ value: fc.constantFrom("idle", { waitingTools: "recording" }), step: fc.nat(9) }),
    head: few("k", 5),
    messages: some(fc.tuple(few("m"), anyText)),
    checkpoints: some(node),
    checkpointDelivered: some(few("k", 5)),
    anchors: some(fc.tuple(few("i", 2), few("e", 2), fc.option(few("k", 2), { nil: undefined }))),
    runsOpened: some(fc.tuple(few("r"), runFields, fc.integer({ min: 1, max: 5 }))),
    runsChanged: fc.uniqueArray(fc.tuple(few("r"), runFields), { selector: ([id]) => id, minLength: 1, maxLength: 4 }),
    callsOpened: some(few("t")),
    callDeadlines: fc.uniqueArray(fc.tuple(few("t"), fc.nat(99)), { selector: ([id]) => id, minLength: 1 }),
    callsSettled: some(fc.tuple(few("t"), anyText, fc.option(data, { nil: undefined }))),
    inboxPut: some(fc.tuple(few("key", 8), data)),
    /** By key; those that are not in the inbox yet cannot be named by their number. */
    inboxTaken: some(few("key", 8)),
    inboxDropped: some(few("key", 8)),
    blobs: some(fc.tuple(few("b"), data)),
  },
  { requiredKeys: [] },
);
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

function toBarrier(id: string, raw: Plan, seqs: ReadonlyMap<string, number>): Barrier {
  const own = (name: string): string => `${id}-${name}`;
  const withoutNone = ({ parkDeadline, partial, ...rest }: Partial<RunRow>): Partial<RunRow> => ({
    ...{ ...rest, ...(parkDeadline ? { parkDeadline } : {}) },
    ...(partial ? { partial } : {}),
  });
  const known = (keys: readonly string[] = []): number[] => keys.flatMap((key) => seqs.get(key) ?? []);
  return {
    ...(raw.chart && { chart: chart(id, raw.chart.value, { step: raw.chart.step }) }),
    ...(raw.head && { head: raw.head as CheckpointId }),
    ...(raw.messages && { messages: raw.messages.map(([name, text]) => textMessage(name, text)) }),
    ...(raw.checkpoints && { checkpoints: raw.checkpoints }),
    ...(raw.checkpointDelivered && { checkpointDelivered: raw.checkpointDelivered as CheckpointId[] }),
    ...(raw.anchors && {
      anchors: raw.anchors.map(([input, event, base]) => ({
        ...anchor(input, event),
        base: base as CheckpointId | undefined,
      })),
    }),
    ...(raw.runsOpened && {
      runsOpened: raw.runsOpened.map(([name, more, acceptedAt]) =>
        runRow(own(name), { acceptedAt, ...withoutNone(more) }),
      ),
    }),
    ...(raw.runsChanged && {
      runsChanged: raw.runsChanged.map(([name, more]) => ({ ...more, runId: own(name) as RunId })),
    }),
    ...(raw.callsOpened && { callsOpened: raw.callsOpened.map((name) => toolCall(name, own("r"))) }),
    ...(raw.callDeadlines && {
      callDeadlines: raw.callDeadlines.map(([name, deadline]) => ({ callId: name as ToolCallId, deadline })),
    }),
    ...(raw.callsSettled && {
      callsSettled: raw.callsSettled.map(([name, text, display]) => ({
        callId: name as ToolCallId,
        result: toolResult(name, text, display === undefined ? {} : { display }),
      })),
    }),
    ...(raw.inboxPut && { inboxPut: raw.inboxPut.map(([key, body]) => inboxPut(key, { body })) }),
    ...{ inboxTaken: known(raw.inboxTaken), inboxDropped: known(raw.inboxDropped) },
    ...(raw.blobs && { blobs: raw.blobs.map(([name, bytes]) => ({ id: own(name) as BlobId, data: bytes })) }),
  };
}

/** Who writes: the owner, or one who was the owner before. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("commit" as const), plan, twice: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("stale" as const), plan }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("take over" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Two nodes that write one conversation in turn, and the model beside them. */
class Walk {
  readonly id = fresh("c");
  readonly model = new ConversationModel();
  readonly #nodes: readonly StoreNode[];
  readonly #seqs = new Map<string, number>();
  readonly #stale: { readonly store: ConversationStore; readonly lease: Lease }[] = [];
  #owner = 0;
  #held: Activation | undefined;
  #transitions = 0;

  constructor(nodes: readonly StoreNode[]) {
    this.#nodes = nodes;
  }

  get #store(): ConversationStore {
    return this.#nodes[this.#owner]!.store;
  }

  async take(): Promise<void> {
    this.#held = await take(this.#store, this.id);
    this.#transitions = 0;
  }

  async step(step: Step): Promise<void> {
    if (step.kind === "commit") return this.#commit(step.plan, step.twice);
    if (step.kind === "stale") return this.#commitStale(step.plan);
    await this.release();
    if (step.kind === "take over") this.#owner = 1 - this.#owner;
    return this.take();
  }

  async #commit(plan: Plan, twice: boolean): Promise<void> {
    const { fence } = this.#held!.lease;
    const barrier = { ...toBarrier(this.id, plan, this.#seqs), journal: [transition(++this.#transitions, { fence })] };
    for (const { key, seq, duplicate } of (await write(this.#store, this.#held!, barrier)).inbox) {
      expect(duplicate).toBe(this.#seqs.has(key));
      expect(seq).toBe(this.#seqs.get(key) ?? seq);
      this.#seqs.set(key, seq);
    }
    this.model.apply(barrier, this.#seqs);
    if (!twice) return;
    await write(this.#store, this.#held!, barrier);
    this.model.apply({ ...barrier, journal: [] }, this.#seqs);
  }

  async #commitStale(plan: Plan): Promise<void> {
    for (const { store, lease } of this.#stale) {
      expect(await store.commit(lease, toBarrier(this.id, plan, this.#seqs))).toEqual({ kind: "fenced" });
    }
  }

  /** Given up first, by the rules; the other way, an ended lease, has tests of its own. */
  async release(): Promise<void> {
    const { lease } = this.#held!;
    this.#stale.push({ store: this.#store, lease });
    await this.#store.release(lease);
  }

  /** Reads all of it on the other node and compares. */
  async compare(): Promise<void> {
    const { store } = this.#nodes[1 - this.#owner]!;
    const { id, model } = this;
    const again = await take(store, id);
    expect(again.chart).toEqual(model.chart);
    expect(again.head).toEqual(model.head);
    expect(again.runs).toEqual(model.activationRuns);
    expect(again.inbox).toEqual(model.waiting);
    const nodes = [...model.nodes.values()];
    expect(await store.checkpoints(again.lease)).toEqual(nodes.map((one) => ({ ...one, wireState: undefined })));
    for (const one of nodes) {
      expect(await store.checkpoint(again.lease, one.id)).toEqual(one);
      const read = await store.messages(again.lease, one.id).catch((error: unknown) => (error as StoreError).code);
      expect(read).toEqual(model.chain(one.id) ?? "brokenChain");
    }
    expect(await store.anchors(again.lease)).toEqual(model.anchors);
    expect(await store.toolCalls(again.lease, `${id}-r` as RunId)).toEqual(model.calls);
    const blobs = ["b1", "b2", "b3", "b4"].map((name) => `${id}-${name}` as BlobId);
    expect(await store.blobs(ANN, blobs)).toEqual(model.blobs);
    expect(await store.inspect(again.lease.conversationId)).toMatchObject({
      ...{ runs: model.runs, journal: model.journal, messages: model.messages.size },
    });
  }
}

describe("random barriers, then a restart", () => {
  let database: TestDatabase;
  let adapter: StoreAdapter;
  beforeAll(async () => {
    database = await createDatabase();
    adapter = postgresAdapter(database.url);
  });
  afterAll(async () => {
    await adapter.close();
    await database.drop();
  });

  it("what is read again is what the contract says was written", async () => {
    const nodes = await Promise.all([adapter.node(), adapter.node()]);
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const walk = new Walk(nodes);
      await walk.take();
      for (const one of steps) await walk.step(one);
      await walk.release();
      await walk.compare();
    });
    await expect(fc.assert(property, { numRuns: 120 })).resolves.toBeUndefined();
  }, 60_000);
});
