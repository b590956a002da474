import type {
  CheckpointId,
  ConversationId,
  HistoryId,
  MessageId,
  RequestId,
  RunId,
  RunRow,
  ToolCallId,
  TraceId,
} from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import type { StoreAdapter } from "./store-adapter.ts";
import {
  ANN,
  anchor,
  blob,
  bytes,
  chart,
  checkpoint,
  fresh,
  fullRunRow,
  inboxPut,
  modelCall,
  runRow,
  shown,
  take,
  textMessage,
  toolCall,
  toolResult,
  transition,
  write,
} from "./store-samples.ts";

/** What a barrier writes, once. */
export function barriers(adapter: () => StoreAdapter): void {
  describe("a barrier", () => {
    it("is written, and fenced, no less when nobody waits for the disk", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const former = await take(store, id);
      const held = await take(store, id);
      const node = checkpoint("k1", undefined, ["m1"]);
      const late = { head: node.id, messages: [textMessage("m1")], checkpoints: [node], unawaited: true } as const;
      expect(await store.commit(former.lease, late)).toEqual({ kind: "fenced" });
      expect(await store.checkpoints(held.lease)).toEqual([]);
      expect(await store.commit(held.lease, late)).toEqual({ kind: "committed", inbox: [] });
      expect((await take(store, id)).head).toBe(node.id);
      expect(await store.messages(held.lease, node.id)).toEqual([textMessage("m1")]);
    });

    it("is all or nothing, and all of it comes back", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const held = await take(store, id);
      const first = checkpoint("k1", undefined, ["m1"]);
      const whole = {
        ...checkpoint("k2", first, ["m2"]),
        runId: `${id}-r` as RunId,
        wireState: bytes(5, 6),
        delivered: true,
      };
      const marked = modelCall("p2", `${id}-r`, {
        purpose: "summary",
        mark: {
          ...{ head: whole.id, system: "s", tools: "t", messages: 2, digest: "d" },
          summary: "summary:r" as HistoryId,
        },
      });
      await write(store, held, {
        ...{
          chart: chart(
            id,
            { waitingTools: "recording" },
            { openCalls: 1, outcome: { kind: "failed", code: "INTERNAL" } },
          ),
        },
        ...{ head: whole.id, messages: [textMessage("m1"), textMessage("m2")], checkpoints: [first, whole] },
        ...{
          anchors: [anchor("i1", "e1"), anchor("i2", "e2", first)],
          runsOpened: [runRow(`${id}-r`), fullRunRow(`${id}-f`)],
        },
        callsOpened: [
          toolCall("t1", `${id}-r`),
          toolCall("t2", `${id}-r`, { status: "settled", result: toolResult("t2") }),
        ],
        ...{
          inboxPut: [inboxPut("a"), inboxPut("b", { runId: `${id}-r` as RunId })],
          blobs: [blob(`${id}-b`, 0, 255)],
        },
        ...{
          modelCalls: [modelCall("p1", `${id}-r`), marked],
          journal: [transition(1), transition(2, { runId: `${id}-r` })],
        },
        trace: {
          traceId: `trace-${id}-r` as TraceId,
          runId: `${id}-r` as RunId,
          attributes: { a: "x\0\ud800", n: 1, b: true },
        },
      });
      const again = await take(store, id);
      expect(again).toEqual({
        ...{ lease: { conversationId: id, member: ANN, fence: 2 }, created: false, head: "k2", parent: undefined },
        chart: chart(
          id,
          { waitingTools: "recording" },
          { openCalls: 1, outcome: { kind: "failed", code: "INTERNAL" } },
        ),
        runs: [runRow(`${id}-r`), fullRunRow(`${id}-f`)],
        inbox: [
          { ...inboxPut("a"), seq: 1, state: "waiting" },
          { ...inboxPut("b"), seq: 2, state: "waiting", runId: `${id}-r` },
        ],
      });
      const { lease } = again;
      expect(await store.checkpoints(lease)).toEqual([first, { ...whole, wireState: undefined }]);
      expect(await store.checkpoint(lease, whole.id)).toEqual(whole);
      expect(await store.checkpoint(lease, "k9" as CheckpointId)).toBeUndefined();
      expect(await store.anchors(lease)).toEqual([anchor("i1", "e1"), anchor("i2", "e2", first)]);
      expect(await store.messages(lease, whole.id)).toEqual([textMessage("m1"), textMessage("m2")]);
      expect(await store.toolCalls(lease, `${id}-r` as RunId)).toEqual([
        toolCall("t1", `${id}-r`),
        toolCall("t2", `${id}-r`, { status: "settled", result: toolResult("t2") }),
      ]);
      expect(await store.inspect(id as ConversationId)).toMatchObject({
        journal: [transition(1), transition(2, { runId: `${id}-r` })],
        runs: [runRow(`${id}-r`), fullRunRow(`${id}-f`)],
        modelCalls: [modelCall("p1", `${id}-r`), marked],
        traces: [{ traceId: `trace-${id}-r`, runId: `${id}-r`, attributes: { n: 1, b: true } }],
        messages: 2,
      });
      expect(await store.markedCalls(lease, 2)).toEqual([marked]);
    });

    it("that the database refuses writes nothing, and says so without a word of its content", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const held = await take(store, id);
      const secret = "sk-secret";
      const refused = store.commit(held.lease, {
        messages: [textMessage("m1", secret)],
        // no text of the database may hold NUL
        inboxPut: [inboxPut(`${secret}\0`)],
      });
      const error: unknown = await refused.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ name: "StoreError", code: "rejected", retryable: false });
      const told = [error, ...Object.values(error as object), (error as Error).stack, JSON.stringify(error)];
      for (const name of Object.getOwnPropertyNames(error)) told.push(String(Reflect.get(error as object, name)));
      expect(told.map(String).join("\n")).not.toContain(secret);
      expect(await store.inspect(id as ConversationId)).toMatchObject({ messages: 0 });
      await write(store, held, {});
    });

    it("written twice stands once", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const held = await take(store, id);
      const node = checkpoint("k1", undefined, ["m1"]);
      const barrier = {
        ...{ chart: chart(id, "modeling"), head: node.id, messages: [textMessage("m1")], checkpoints: [node] },
        ...{ anchors: [anchor("i", "e")], runsOpened: [runRow(`${id}-r`)], callsOpened: [toolCall("t", `${id}-r`)] },
        ...{ callsSettled: [{ callId: "t" as ToolCallId, result: toolResult("t") }], inboxPut: [inboxPut("a")] },
        ...{ blobs: [blob(`${id}-b`, 1)], modelCalls: [modelCall("p", `${id}-r`)], journal: [transition(1)] },
      };
      await write(store, held, barrier);
      const once = { ...(await take(store, id)), lease: undefined };
      const overview = await store.inspect(id as ConversationId);
      const now = await take(store, id);
      expect(await write(store, now, barrier)).toEqual({
        kind: "committed",
        inbox: [{ key: "a", seq: 1, duplicate: true }],
      });
      const twice = await take(store, id);
      expect({ ...twice, lease: undefined }).toEqual(once);
      expect(await store.inspect(id as ConversationId)).toEqual({ ...overview, fence: twice.lease.fence });
      expect(await store.checkpoints(twice.lease)).toEqual([node]);
      expect(await store.anchors(twice.lease)).toHaveLength(1);
      expect(await store.toolCalls(twice.lease, `${id}-r` as RunId)).toHaveLength(1);
    });

    it("leaves alone what it does not name", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const held = await take(store, id);
      const node = checkpoint("k1", undefined, []);
      await write(store, held, { chart: chart(id, "idle"), head: node.id, checkpoints: [node] });
      await write(store, held, {});
      await write(store, held, { messages: [textMessage("m")] });
      expect(await take(store, id)).toMatchObject({ head: "k1", chart: chart(id, "idle") });
    });

    it("commits of one conversation are written in the order of the calls", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const held = await take(store, id);
      const steps = Array.from({ length: 30 }, (_, step) => step + 1);
      const results = await Promise.all(
        steps.map((step) =>
          store.commit(held.lease, {
            ...{ chart: chart(id, "modeling", { step }), inboxPut: [inboxPut(`key-${step}`)] },
            ...(step === 1
              ? { callsOpened: [toolCall("t", `${id}-r`)] }
              : { callsSettled: [{ callId: "t" as ToolCallId, result: toolResult("t", `result ${step}`) }] }),
          }),
        ),
      );
      expect(results).toEqual(
        steps.map((seq) => ({ kind: "committed", inbox: [{ key: `key-${seq}`, seq, duplicate: false }] })),
      );
      const after = await take(store, id);
      expect(after.chart?.context.step).toBe(30);
      expect(after.inbox.map(({ key }) => key)).toEqual(steps.map((step) => `key-${step}`));
      expect(await store.toolCalls(after.lease, `${id}-r` as RunId)).toMatchObject([{ result: { text: "result 2" } }]);
    });

    it("two conversations of a member that write the same blobs in opposite orders do not wait for each other", async () => {
      const { store } = await adapter().node();
      const blobs = Array.from({ length: 200 }, (_, n) => blob(fresh("both"), n));
      for (let round = 0; round < 5; round++) {
        const [one, two] = await Promise.all([take(store, fresh("c")), take(store, fresh("c"))]);
        const of = blobs.map(({ id, data }) => ({ id: `${id}-${round}` as typeof id, data }));
        await Promise.all([write(store, one, { blobs: of }), write(store, two, { blobs: of.toReversed() })]);
        expect(
          await store.hasBlobs(
            ANN,
            of.map(({ id }) => id),
          ),
        ).toEqual(new Set(of.map(({ id }) => id)));
      }
    });
  });

  describe("the inbox", () => {
    it("gives each key one number, for ever", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const held = await take(store, id);
      const put = async (...keys: string[]): Promise<unknown> =>
        (await write(store, held, { inboxPut: keys.map((key) => inboxPut(key)) })).inbox.map(
          ({ key, seq, duplicate }) => `${key}${seq}${duplicate ? " again" : ""}`,
        );
      expect(await put("a", "b", "a")).toEqual(["a1", "b2", "a1 again"]);
      expect(await put("b")).toEqual(["b2 again"]);
      await write(store, held, { inboxTaken: [1], inboxDropped: [2] });
      expect(await put("a", "b")).toEqual(["a1 again", "b2 again"]);
      const [fresher] = (await write(store, held, { inboxPut: [inboxPut("c")] })).inbox;
      expect(fresher!.seq).toBeGreaterThan(2);
      expect((await take(store, id)).inbox.map(({ key }) => key)).toEqual(["c"]);
    });

    it("keeps what waits over activations, in order, and forgets what was taken", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      await write(store, await take(store, id), { inboxPut: ["a", "b", "c", "d"].map((key) => inboxPut(key)) });
      await write(store, await take(store, id), { inboxTaken: [2, 99], inboxDropped: [3] });
      expect((await take(store, id)).inbox.map(({ key, seq }) => [key, seq])).toEqual([
        ["a", 1],
        ["d", 4],
      ]);
    });
  });

  describe("a Run", () => {
    const stored = async (adapterNow: StoreAdapter, before: Partial<RunRow>, ...changes: Partial<RunRow>[]) => {
      const { store } = await adapterNow.node();
      const held = await take(store, fresh("c"));
      const runId = `${held.lease.conversationId}-r` as RunId;
      await write(store, held, { runsOpened: [runRow(runId, before)] });
      for (const change of changes) await write(store, held, { runsChanged: [{ ...change, runId }] });
      const row = await store.run(held.lease, { runId });
      const { runId: _runId, requestId: _request, traceId: _trace, ...rest } = row!;
      return rest;
    };
    const shape = (more: Partial<RunRow>) => {
      const { runId: _runId, requestId: _request, traceId: _trace, ...rest } = runRow("x", more);
      return rest;
    };

    it("keeps what its Step has shown until that is taken away", async () => {
      const so = shown("so far");
      expect(await stored(adapter(), {}, { partial: so })).toEqual(shape({ partial: so }));
      expect(await stored(adapter(), { partial: so }, { generation: 2 })).toEqual(
        shape({ partial: so, generation: 2 }),
      );
      expect(await stored(adapter(), { partial: so }, { partial: shown("more") }, { partial: null })).toEqual(
        shape({}),
      );
    });

    it("goes forward only: waiting, running, ended", async () => {
      expect(await stored(adapter(), { status: "waiting" }, { status: "running" })).toEqual(
        shape({ status: "running" }),
      );
      expect(await stored(adapter(), { status: "waiting" }, { status: "superseded" })).toEqual(
        shape({ status: "superseded" }),
      );
      expect(await stored(adapter(), { status: "running" }, { status: "waiting", generation: 7 })).toEqual(shape({}));
      expect(await stored(adapter(), { status: "completed" }, { status: "running", generation: 7 })).toEqual(
        shape({ status: "completed" }),
      );
    });

    it("has one outcome: the first", async () => {
      const failed = { status: "failed", failureCode: "PARK_EXPIRED", endedAt: 2_000 } as const;
      expect(await stored(adapter(), {}, failed, { status: "completed", endedAt: 3_000, delivered: true })).toEqual(
        shape(failed),
      );
      expect(
        await stored(adapter(), {}, failed, {
          status: "failed",
          failureCode: "INTERNAL",
          endedAt: 3_000,
          delivered: true,
        }),
      ).toEqual(shape({ ...failed, delivered: true }));
    });

    it("changes what the change names and nothing else; delivered stays; a park deadline of 0 takes it away", async () => {
      expect(await stored(adapter(), { parkDeadline: 5 }, { generation: 2 })).toEqual(
        shape({ parkDeadline: 5, generation: 2 }),
      );
      expect(await stored(adapter(), { parkDeadline: 5 }, { parkDeadline: 0 })).toEqual(shape({}));
      expect(await stored(adapter(), {}, { delivered: true }, { delivered: false })).toEqual(
        shape({ delivered: true }),
      );
      const every: Partial<RunRow> = {
        ...{
          kind: "summarize",
          status: "cancelled",
          failureCode: "CANCELLED",
          generation: 3,
          parkDeadline: 8,
          endedAt: 9,
        },
        ...{
          delivered: true,
          acceptedAt: 7,
          wireRunIds: [],
          finalHead: "kf" as CheckpointId,
          baseHead: "kb" as CheckpointId,
        },
        ...{ messageId: "mm" as MessageId, modelId: "m2" as RunRow["modelId"], agentSessionId: "s" as never },
      };
      expect(await stored(adapter(), {}, every)).toEqual(shape(every));
    });

    it("opened and changed in one barrier is opened as changed", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const runId = `${held.lease.conversationId}-r` as RunId;
      const barrier = {
        runsOpened: [runRow(runId)],
        runsChanged: [{ runId, status: "completed" as const, endedAt: 2 }],
      };
      await write(store, held, barrier);
      expect(await store.run(held.lease, { runId })).toEqual(runRow(runId, { status: "completed", endedAt: 2 }));
    });

    it("is found by its id, by the newest of its message, and by its generation, in its own conversation only", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const other = await take(store, fresh("c"));
      const { conversationId: id } = held.lease;
      const message = `${id}-m` as MessageId;
      const request = `${id}-q` as RequestId;
      const rows = [1, 2].map((generation) =>
        runRow(`${id}-r${generation}`, { messageId: message, requestId: request, generation }),
      );
      await write(store, held, { runsOpened: rows });
      expect(await store.run(held.lease, { runId: rows[0]!.runId })).toEqual(rows[0]);
      expect(await store.run(held.lease, { messageId: message })).toEqual(rows[1]);
      expect(await store.run(held.lease, { requestId: request, generation: 1 })).toEqual(rows[0]);
      expect(await store.run(held.lease, { requestId: request, generation: 3 })).toBeUndefined();
      expect(await store.run(other.lease, { runId: rows[0]!.runId })).toBeUndefined();
      expect(await store.run(other.lease, { messageId: message })).toBeUndefined();
      expect(await store.run(other.lease, { requestId: request, generation: 1 })).toBeUndefined();
      await write(store, other, { runsChanged: [{ runId: rows[0]!.runId, status: "failed" }] });
      expect(await store.run(held.lease, { runId: rows[0]!.runId })).toEqual(rows[0]);
    });

    it("is found by each generation that claimed it, in its own conversation; the first Run of a generation stands", async () => {
      const { store } = await adapter().node();
      const [held, other] = [await take(store, fresh("c")), await take(store, fresh("c"))];
      const request = fresh("q") as RequestId;
      const run = (name: string, generation: number): RunRow =>
        runRow(`${held.lease.conversationId}-${name}`, { requestId: request, generation });
      const [one, two] = [run("1", 1), run("2", 2)];
      const claim = (runId: RunId, generation: number) => ({ runId, requestId: request, generation });
      await write(store, held, { runsOpened: [one, two], runsClaimed: [claim(one.runId, 3), claim(one.runId, 3)] });
      await write(store, held, { runsClaimed: [claim(two.runId, 3), claim(one.runId, 4)] });
      const found = (generation: number) => store.run(held.lease, { requestId: request, generation });
      expect([await found(1), await found(2), await found(3), await found(4)]).toEqual([one, two, one, one]);
      expect(await store.run(other.lease, { requestId: request, generation: 3 })).toBeUndefined();
      // the stream of a claim went on with a follow-up
      await write(store, held, { runsOpened: [run("3", 3)] });
      expect(await found(3)).toEqual(run("3", 3));
      // under another fence nothing is written
      const taken = await take(store, held.lease.conversationId);
      await store.commit(held.lease, { runsClaimed: [claim(one.runId, 5)] });
      expect(await store.run(taken.lease, { requestId: request, generation: 5 })).toBeUndefined();
    });

    it("comes with the activation while it has not ended, oldest first; of the ended ones the last, and those that ended since the oldest of the others was accepted", async () => {
      const { store } = await adapter().node();
      const id = fresh("c");
      const held = await take(store, id);
      const run = (name: string, more: Partial<RunRow>): RunRow => runRow(`${id}-${name}`, more);
      const names = async (): Promise<readonly string[]> =>
        (await take(store, id)).runs.map(({ runId }) => runId.slice(id.length + 1));
      const [first, second, third] = [
        run("1", { status: "completed", endedAt: 30 }),
        run("2", { status: "failed", endedAt: 40 }),
        run("3", { status: "superseded", endedAt: 35 }),
      ];
      await write(store, held, { runsOpened: [first, second, third] });
      expect(await names()).toEqual(["2"]);
      await write(store, await take(store, id), {
        runsOpened: [run("4", { status: "running", acceptedAt: 35 }), run("5", { status: "waiting", acceptedAt: 50 })],
      });
      expect(await names()).toEqual(["4", "5", "2", "3"]);
      await write(store, await take(store, id), {
        runsChanged: [{ runId: `${id}-4` as RunId, status: "completed", endedAt: 60 }],
      });
      expect(await names()).toEqual(["5", "4"]);
    });
  });

  describe("a tool call", () => {
    it("keeps its first result, and its deadline moves only while it is open", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const runId = `${held.lease.conversationId}-r` as RunId;
      const callId = "t" as ToolCallId;
      await write(store, held, { callsOpened: [toolCall(callId, runId)] });
      await write(store, held, { callDeadlines: [{ callId, deadline: 12_000 }] });
      expect(await store.toolCalls(held.lease, runId)).toEqual([toolCall(callId, runId, { deadline: 12_000 })]);
      const result = toolResult(callId, "first", { isError: true, interrupted: "cancelled", display: bytes(7) });
      await write(store, held, {
        callsSettled: [
          { callId, result },
          { callId, result: toolResult(callId, "second") },
        ],
      });
      await write(store, held, {
        callsSettled: [{ callId, result: toolResult(callId, "third", { display: bytes(8) }) }],
        callDeadlines: [{ callId, deadline: 13_000 }],
      });
      expect(await store.toolCalls(held.lease, runId)).toEqual([
        toolCall(callId, runId, { deadline: 12_000, status: "settled", result }),
      ]);
    });

    it("is one of its own conversation: the same id elsewhere is another call", async () => {
      const { store } = await adapter().node();
      const [one, two] = [await take(store, fresh("c")), await take(store, fresh("c"))];
      const runs = [one, two].map(({ lease }) => `${lease.conversationId}-r` as RunId);
      await write(store, one, { callsOpened: [toolCall("t", runs[0]!)] });
      await write(store, two, { callsOpened: [toolCall("t", runs[1]!)] });
      await write(store, two, { callsSettled: [{ callId: "t" as ToolCallId, result: toolResult("t") }] });
      expect(await store.toolCalls(one.lease, runs[0]!)).toMatchObject([{ status: "open" }]);
      expect(await store.toolCalls(one.lease, runs[1]!)).toEqual([]);
    });
  });
}
