import type { ConversationId, Lease, ParentConversationRef, RunId, ToolCallId } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import type { StoreAdapter } from "./store-adapter.ts";
import {
  ANN,
  blob,
  BOB,
  chart,
  checkpoint,
  fresh,
  inboxPut,
  modelCall,
  runRow,
  take,
  textMessage,
  transition,
  write,
} from "./store-samples.ts";

/** Who may write a conversation, and that nobody else does. */
export function fencing(adapter: () => StoreAdapter): void {
  describe("ownership", () => {
    it("makes a conversation that is unknown, and only when it is asked to", async () => {
      const { store } = await adapter().node();
      const id = fresh("c") as ConversationId;
      expect(await store.activate(id, ANN, { create: false })).toEqual({ kind: "notFound" });
      const made = await take(store, id);
      expect(made).toEqual({
        ...{ lease: { conversationId: id, member: ANN, fence: 1 }, created: true, runs: [], inbox: [] },
        ...{ chart: undefined, head: undefined, parent: undefined },
      });
      expect(await take(store, id, ANN, false)).toMatchObject({ created: false, lease: { fence: 2 } });
    });

    it("raises the fence each time, on the same node too: the older lease writes nothing", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const first = await take(store, id);
      const second = await take(store, id);
      expect(second.lease.fence).toBeGreaterThan(first.lease.fence);
      expect(await store.commit(first.lease, { messages: [textMessage("m")] })).toEqual({ kind: "fenced" });
      expect(await store.inspect(id as ConversationId)).toMatchObject({ messages: 0 });
      await write(store, second, { messages: [textMessage("m")] });
    });

    it("never robs a living owner", async () => {
      const owner = await adapter().node();
      const other = await adapter().node();
      const id = fresh("c") as ConversationId;
      const held = await take(owner.store, id);
      for (const create of [true, false]) {
        expect(await other.store.activate(id, ANN, { create })).toEqual({ kind: "elsewhere", node: owner.id });
      }
      await write(owner.store, held, { messages: [textMessage("m")] });
    });

    it("gives the conversation of an owner whose lease has ended to the next, and refuses all that the first still writes", async () => {
      const frozen = await adapter().node();
      const next = await adapter().node();
      const id = fresh("c");
      const before = await take(frozen.store, id);
      const node = checkpoint("k1", undefined, ["m1"]);
      await write(frozen.store, before, {
        ...{ messages: [textMessage("m1")], checkpoints: [node], head: node.id, chart: chart(id, "idle") },
        runsOpened: [runRow(`${id}-r1`)],
      });
      await frozen.expire();
      const after = await take(next.store, id);
      expect(after).toMatchObject({
        head: "k1",
        chart: { value: "idle" },
        runs: [{ runId: `${id}-r1` }],
        created: false,
      });

      const late = checkpoint("k2", node, ["m2"]);
      const result = await frozen.store.commit(before.lease, {
        ...{ messages: [textMessage("m2")], checkpoints: [late], head: late.id, chart: chart(id, "modeling") },
        ...{ runsOpened: [runRow(`${id}-r2`)], runsChanged: [{ runId: `${id}-r1` as RunId, status: "failed" }] },
        ...{ inboxPut: [inboxPut("key")], blobs: [blob(`${id}-b`, 1)], journal: [transition(1)] },
        ...{ checkpointDelivered: [node.id], modelCalls: [modelCall(`${id}-late`, `${id}-r1`)] },
      });
      expect(result).toEqual({ kind: "fenced" });
      expect(await next.store.inspect(id as ConversationId)).toMatchObject({
        ...{ head: "k1", messages: 1, owner: next.id, chart: { value: "idle" }, journal: [], modelCalls: [] },
        runs: [{ runId: `${id}-r1`, status: "running" }],
      });
      expect(await next.store.checkpoints(after.lease)).toEqual([node]);
      expect(await next.store.hasBlobs(ANN, [blob(`${id}-b`).id])).toEqual(new Set());
      await write(next.store, after, { inboxPut: [inboxPut("key")] });
    });

    it("of several nodes that want it at once, gives it to exactly one", async () => {
      const dead = await adapter().node();
      const id = fresh("c") as ConversationId;
      await take(dead.store, id);
      await dead.expire();
      const nodes = await Promise.all([1, 2, 3, 4].map(() => adapter().node()));
      const results = await Promise.all(nodes.map(({ store }) => store.activate(id, ANN, { create: true })));
      const winner = nodes[results.findIndex(({ kind }) => kind === "active")]!;
      expect(results.filter(({ kind }) => kind === "active")).toHaveLength(1);
      const others = results.filter(({ kind }) => kind !== "active");
      expect(others).toEqual(others.map(() => ({ kind: "elsewhere", node: winner.id })));
    });

    it("released: free for any node, and closed to the lease that gave it up", async () => {
      const first = await adapter().node();
      const second = await adapter().node();
      const id = fresh("c");
      const held = await take(first.store, id);
      await first.store.release(held.lease);
      expect(await first.store.commit(held.lease, {})).toEqual({ kind: "fenced" });
      const taken = await take(second.store, id);
      await first.store.release(held.lease);
      await write(second.store, taken, { messages: [textMessage("m")] });
    });

    it("is given up by its own lease alone: not by an older one of the node, nor by the same number on another", async () => {
      const owner = await adapter().node();
      const other = await adapter().node();
      const id = fresh("c") as ConversationId;
      const older = await take(owner.store, id);
      const held = await take(owner.store, id);
      await owner.store.release(older.lease);
      await other.store.release(held.lease);
      expect(await other.store.activate(id, ANN, { create: false })).toEqual({ kind: "elsewhere", node: owner.id });
      await owner.store.release(held.lease);
      expect(await other.store.activate(id, ANN, { create: false })).toMatchObject({ kind: "active" });
    });

    it("each owner counts its writes for itself: one that begins after many of another is not behind them", async () => {
      const first = await adapter().node();
      const id = fresh("c");
      const held = await take(first.store, id);
      for (const message of ["m1", "m2", "m3"]) await write(first.store, held, { messages: [textMessage(message)] });
      await first.store.release(held.lease);
      for (const create of [false, true]) {
        const next = await adapter().node();
        const taken = await take(next.store, id, ANN, create);
        await write(next.store, taken, { messages: [textMessage(`next ${create}`)] });
        await next.store.release(taken.lease);
      }
      expect(await first.store.inspect(id as ConversationId)).toMatchObject({ messages: 5 });
    });

    it("a lease names its node: the same number on another node writes nothing", async () => {
      // a taking that the database lost in a crash leaves two nodes with one number
      const owner = await adapter().node();
      const other = await adapter().node();
      const id = fresh("c");
      const held = await take(owner.store, id);
      const copy: Lease = { ...held.lease };
      expect(await other.store.commit(copy, { messages: [textMessage("m")] })).toEqual({ kind: "fenced" });
      await write(owner.store, held, { messages: [textMessage("m")] });
    });

    it("another member's conversation is unknown", async () => {
      const { store } = await adapter().node();
      const id = fresh("c") as ConversationId;
      const held = await take(store, id, ANN);
      for (const create of [true, false]) {
        expect(await store.activate(id, BOB, { create })).toEqual({ kind: "notFound" });
      }
      expect(await store.inspect(id)).toMatchObject({ member: ANN, fence: held.lease.fence });
    });

    it("keeps the parent that it was made with, whole, whatever later activations say", async () => {
      const { store } = await adapter().node();
      const id = fresh("c") as ConversationId;
      const parent: ParentConversationRef = {
        parentConversationId: "p" as ConversationId,
        parentRunId: "r" as RunId,
        parentToolCallId: "t" as ToolCallId,
      };
      const made = await store.activate(id, ANN, { create: true, parent });
      expect(made).toMatchObject({ activation: { parent } });
      const other = { ...parent, parentRunId: "r2" as RunId };
      expect(await store.activate(id, ANN, { create: true, parent: other })).toMatchObject({ activation: { parent } });
      expect(await store.inspect(id)).toMatchObject({ parent });
    });
  });

  describe("overdue", () => {
    it("finds what nobody living owns and whose deadline has passed, the longest overdue first", async () => {
      const dying = await adapter().node();
      const living = await adapter().node();
      const [late, later, notYet, owned, run, waitsForNothing] = Array.from({ length: 6 }, () => fresh("overdue"));
      const hold = async (id: string, node: typeof dying, context: object, more: object = {}): Promise<void> =>
        void (await write(node.store, await take(node.store, id), {
          chart: chart(id, "waitingTools", context),
          ...more,
        }));
      await hold(later!, dying, { parkDeadline: 2_000, callDeadline: 7_000 });
      await hold(late!, dying, { callDeadline: 1_000 });
      await hold(notYet!, dying, { parkDeadline: 5_001 });
      await hold(owned!, living, { parkDeadline: 1_000 });
      await hold(run!, dying, {}, { runsOpened: [runRow(`${run}-r`, { parkDeadline: 3_000 })] });
      await hold(waitsForNothing!, dying, {});
      const mine = async (now: number, limit = 100): Promise<string[]> =>
        (await living.store.overdue(now, limit))
          .map((one) => one.conversationId)
          .filter((id) => id.startsWith("overdue"));
      expect(await mine(5_000)).toEqual([]);
      await dying.expire();
      expect(await mine(5_000)).toEqual([late, later, run]);
      expect(await mine(5_000, 2)).toEqual([late, later]);
      expect(await living.store.overdue(1_000, 1)).toEqual([{ conversationId: late, member: ANN }]);

      // what was activated and waits for nothing any more is not overdue, nor is an ended Run
      await hold(late!, living, {});
      const taken = await take(living.store, run!);
      await write(living.store, taken, { runsChanged: [{ runId: `${run}-r` as RunId, status: "cancelled" }] });
      await living.store.release(taken.lease);
      expect(await mine(5_000)).toEqual([later]);
    });
  });
}
