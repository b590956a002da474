import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  append,
  cancelAction,
  clientMessage,
  execResult,
  heartbeat,
  kvResult,
  prewarm,
  runRequest,
  runSse,
} from "../support/gateway/agent-client.ts";
import { type Harness, startGateway } from "../support/gateway/harness.ts";
import type { Peer, Reply } from "../support/gateway/peer.ts";
import { advancing, settle, until } from "../support/gateway/until.ts";

let harness: Harness;
let peer: Peer;
beforeEach(async () => {
  harness = await startGateway();
  peer = harness.peer();
});
afterEach(() => harness.close());

const unavailable = { code: "STORE_UNAVAILABLE", title: "Storage unavailable", detail: "", retryable: true } as const;
const codeOf = (reply: Reply): string => (JSON.parse(reply.body.toString()) as { code: string }).code;

describe("order", () => {
  it("takes sixteen at once, in any order of arrival", async () => {
    const replies = Array.from({ length: 16 }, (_, index) =>
      append(peer, "req-1", index, index === 0 ? runRequest({ messageId: "m-1" }) : kvResult(index)),
    );
    expect(new Set((await Promise.all(replies)).map((reply) => reply.status))).toEqual(new Set([200]));
    const ids = harness.conversations.calls.flatMap((call) => (call.kind === "kv" ? [call.reply.kvId] : []));
    expect(ids).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
  });

  it("answers a heartbeat at once while the first message is on its way (TR-03), and counts its number", async () => {
    const held = append(peer, "req-1", 2, kvResult(1));
    expect((await append(peer, "req-1", 1, heartbeat)).status).toBe(200);
    await settle();
    expect(harness.conversations.log).toEqual([]);
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    expect((await held).status).toBe(200);
    expect(harness.conversations.log).toEqual(["run req-1#1", "kv req-1#1"]);
  });

  it("starts a generation with a prewarm, whose Run request continues it", async () => {
    const down = runSse(peer, "req-1");
    await append(peer, "req-1", 0, prewarm());
    await append(peer, "req-1", 1, runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    expect(harness.conversations.log).toEqual(["prewarm req-1#1", "run req-1#1", "attach req-1#1"]);
    await down.opened();
  });

  it("acknowledges a prewarm that its Run request overtook", async () => {
    await append(peer, "req-1", 1, runRequest({ messageId: "m-1" }));
    expect((await append(peer, "req-1", 0, prewarm())).status).toBe(200);
    expect(harness.conversations.log).toEqual(["run req-1#1"]);
  });

  it("does not answer before the conversation has it", async () => {
    const receipt = Promise.withResolvers<undefined>();
    harness.conversations.onSubmit = () => receipt.promise as Promise<never>;
    let answered = false;
    const reply = append(peer, "req-1", 0, runRequest({ messageId: "m-1" })).then((got) => {
      answered = true;
      return got;
    });
    const next = append(peer, "req-1", 1, kvResult(1));
    await until(() => harness.conversations.log.length === 1);
    await settle();
    expect(answered).toBe(false);
    expect(harness.conversations.log).toEqual(["run req-1#1"]);
    receipt.resolve(undefined);
    expect((await reply).status).toBe(200);
    expect((await next).status).toBe(200);
  });
});

describe("a gap", () => {
  it("fails what waited 60 s for it, and nothing leaks (TR-02)", async () => {
    peer = harness.peer("h2c");
    await append(peer, "req-1", 1, heartbeat);
    const held = [append(peer, "req-1", 2, kvResult(1)), append(peer, "req-1", 3, kvResult(2))];
    const same = append(peer, "req-1", 2, kvResult(1));
    const begun = harness.clock.now();
    const replies = await advancing(harness.clock, Promise.all([...held, same]));
    for (const reply of replies) expect([reply.status, codeOf(reply)]).toEqual([504, "deadline_exceeded"]);
    expect(harness.clock.now() - begun).toBeGreaterThanOrEqual(60_000);
    expect(harness.conversations.log).toEqual([]);
    harness.clock.advance(700_000);
    await settle();
    expect(harness.clock.pending).toBe(0);
  });

  it("may be filled after that: the number can come again", async () => {
    peer = harness.peer("h2c");
    await append(peer, "req-0", 0, heartbeat);
    expect((await advancing(harness.clock, append(peer, "req-1", 1, kvResult(1)))).status).toBe(504);
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    expect((await append(peer, "req-1", 1, kvResult(1))).status).toBe(200);
    expect(harness.conversations.log).toEqual(["run req-1#1", "kv req-1#1"]);
  });

  it("holds only so many", async () => {
    await harness.close();
    const sequencer = { holdMs: 60_000, maxHeld: 4, maxHeldBytes: 1000, maxAhead: 100 };
    harness = await startGateway({ limits: { sequencer } });
    peer = harness.peer("h2c");
    const held = [2, 3, 4, 5].map((seqno) => append(peer, "req-1", seqno, kvResult(seqno)));
    await settle(30);
    const refused = await append(peer, "req-1", 6, kvResult(6));
    expect([refused.status, codeOf(refused)]).toEqual([429, "resource_exhausted"]);
    await append(peer, "req-1", 1, runRequest({ messageId: "m-1" }));
    for (const reply of await Promise.all(held)) expect(reply.status).toBe(200);
  });
});

describe("a duplicate", () => {
  it("is answered as the first time and applied once", async () => {
    for (let round = 0; round < 3; round += 1) {
      expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }))).status).toBe(200);
      expect((await append(peer, "req-1", 1, kvResult(1))).status).toBe(200);
    }
    expect(harness.conversations.log).toEqual(["run req-1#1", "kv req-1#1"]);
  });

  it("of a held message waits with it", async () => {
    const first = append(peer, "req-1", 1, kvResult(1));
    const second = append(peer, "req-1", 1, kvResult(1));
    await settle(30);
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect(harness.conversations.log).toEqual(["run req-1#1", "kv req-1#1"]);
  });

  it("of a message that could not be kept is a new attempt", async () => {
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    harness.conversations.onReply = () => ({ kind: "refused", failure: unavailable });
    const failed = await append(peer, "req-1", 1, execResult(1));
    expect([failed.status, codeOf(failed)]).toEqual([503, "unavailable"]);
    harness.conversations.onReply = undefined;
    expect((await append(peer, "req-1", 1, execResult(1))).status).toBe(200);
    expect((await append(peer, "req-1", 1, execResult(1))).status).toBe(200);
    expect(harness.conversations.log).toEqual(["run req-1#1", "exec req-1#1", "exec req-1#1"]);
  });

  it("of a Run request that could not be kept is a new attempt", async () => {
    harness.conversations.onSubmit = () => ({ kind: "refused", failure: unavailable });
    expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }))).status).toBe(503);
    harness.conversations.onSubmit = undefined;
    expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }))).status).toBe(200);
    expect(harness.conversations.bindings.get("ann req-1")).toMatchObject({ live: true });
  });
});

describe("a late or odd append", () => {
  it("goes to the conversation, which drops it, and is answered 200 (LC-09)", async () => {
    const down = runSse(peer, "req-1");
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    harness.conversations.end("req-1#1");
    await down.over();
    harness.conversations.onReply = () => ({ kind: "dropped", reason: "late" });
    expect((await append(peer, "req-1", 1, execResult(1))).status).toBe(200);
    expect((await append(peer, "req-1", 2, cancelAction())).status).toBe(200);
    expect(harness.conversations.log.slice(2)).toEqual(["exec req-1#1", "action req-1#1"]);
  });

  it("of a stream that an earlier process had is handed over in its order of arrival", async () => {
    harness.conversations.bind("ann", "req-1", "conv-1", 3, true);
    expect((await append(peer, "req-1", 17, execResult(4))).status).toBe(200);
    expect((await append(peer, "req-1", 12, kvResult(4))).status).toBe(200);
    expect(harness.conversations.log).toEqual(["exec req-1#3", "kv req-1#3"]);
  });

  it("that is no message of the agent is not taken as a run (TR-23)", async () => {
    expect((await append(peer, "speech-1", 0, Buffer.from([0x12, 0x7f, 1, 2, 3]))).status).toBe(200);
    expect(harness.conversations.log).toEqual([]);
    expect(harness.events).toEqual([
      { type: "input.dropped", conversationId: null, reason: "not a message of the agent" },
    ]);
    // an empty configuration of speech to text reads as an empty Run request
    const empty = await append(peer, "speech-1", 0, clientMessage({ case: "runRequest", value: {} }));
    expect([empty.status, codeOf(empty)]).toEqual([400, "invalid_argument"]);
  });

  it("fails when it is broken in the middle of an agent's stream, and the stream goes on", async () => {
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    expect((await append(peer, "req-1", 1, Buffer.from([0x12, 0x7f]))).status).toBe(400);
    expect((await append(peer, "req-1", 2, kvResult(2))).status).toBe(200);
    expect(harness.conversations.log).toEqual(["run req-1#1", "kv req-1#1"]);
  });

  it("is told of a conversation that is out of order inside", async () => {
    harness.conversations.onSubmit = () => Promise.reject(new Error("secret text"));
    const reply = await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    expect([reply.status, codeOf(reply)]).toEqual([500, "internal"]);
    expect(reply.body.toString()).not.toContain("secret");
    expect(harness.reports).toEqual([new Error("secret text")]);
  });

  it("waits for a store that cannot be asked, by failing as retryable", async () => {
    harness.conversations.onBinding = () => {
      throw new Error("no database");
    };
    for (const message of [runRequest({ messageId: "m-1" }), execResult(1)]) {
      const reply = await append(peer, "req-1", 0, message);
      expect([reply.status, codeOf(reply)]).toEqual([503, "unavailable"]);
    }
    harness.conversations.onBinding = undefined;
    expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }))).status).toBe(200);
  });

  it.each(["cannot be asked", "cannot be written"])(
    "that would have opened a Run, of a store that %s, ends the downlink that waits for it and the one that comes after it, as retryable",
    async (how) => {
      const away = (): never => {
        throw new Error("no database");
      };
      harness.conversations.onBinding = how === "cannot be asked" ? away : undefined;
      harness.conversations.onSubmit = () => ({ kind: "refused", failure: unavailable });
      const waiting = runSse(peer, "req-1");
      await waiting.opened();
      // what opens nothing ends nothing
      await append(peer, "req-1", 1, heartbeat);
      expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }))).status).toBe(503);
      expect(await waiting.over()).toMatchObject({ kind: "error", code: "unavailable" });
      const late = runSse(peer, "req-1");
      await late.opened();
      // one whose generation is over first gives the next one its time
      expect(await advancing(harness.clock, late.over())).toMatchObject({ kind: "error", code: "unavailable" });

      harness.conversations.onBinding = undefined;
      harness.conversations.onSubmit = undefined;
      expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }))).status).toBe(200);
      const again = runSse(peer, "req-1");
      const { streamId } = harness.conversations.envelopes.at(-1)!.generation;
      await until(() => harness.conversations.attached(streamId));
      harness.conversations.end(streamId);
      expect(await again.over()).toEqual({ kind: "completed" });
    },
  );
});

describe("what the headers say", () => {
  it("reaches the conversation with the opening", async () => {
    const headers = {
      "x-original-request-id": "req-0",
      "x-parent-request-id": "parent-1",
      "x-parent-agent-tool-call-id": "call-1",
      "x-cursor-client-version": "cli-2026.08.11-e8db854",
    };
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }), headers);
    expect(harness.conversations.envelopes[0]).toMatchObject({
      carrier: "A",
      principal: { member: "ann" },
      generation: { member: "ann", requestId: "req-1", generation: 1, streamId: "req-1#1" },
      originalRequestId: "req-0",
      parent: { requestId: "parent-1", callId: "call-1" },
      clientVersion: "cli-2026.08.11-e8db854",
    });
  });

  it("may come with the downlink instead", async () => {
    const down = runSse(peer, "req-1", "connect", { "x-original-request-id": "req-0" });
    await down.opened();
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    expect(harness.conversations.envelopes[0]?.originalRequestId).toBe("req-0");
  });

  it("is refused when only one of the two parent headers is there (ID-15)", async () => {
    const down = runSse(peer, "req-1");
    await down.opened();
    await until(() => harness.conversations.lookUps === 1);
    const reply = await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }), {
      "x-parent-request-id": "parent-1",
    });
    expect([reply.status, codeOf(reply)]).toEqual([400, "invalid_argument"]);
    expect(await down.over()).toMatchObject({ kind: "error", code: "invalid_argument" });
    expect(harness.conversations.log).toEqual([]);
  });
});
