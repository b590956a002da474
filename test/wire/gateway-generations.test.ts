import { encodeUpdate } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  append,
  type Downstream,
  execResult,
  kvResult,
  run,
  type RunInit,
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

const text = (value: string): Uint8Array => encodeUpdate({ kind: "text", text: value });
const codeOf = (reply: Reply): string => (JSON.parse(reply.body.toString()) as { code: string }).code;
const submitted = (): number => harness.conversations.envelopes.length;

/** A turn whose Run has begun on an attached downlink. */
async function begin(requestId = "req-1", init: RunInit = { messageId: "m-1" }, generation = 1): Promise<Downstream> {
  const down = runSse(peer, requestId);
  await down.opened();
  await append(peer, requestId, 0, runRequest(init));
  await until(() => harness.conversations.attached(`${requestId}#${generation}`));
  return down;
}

async function complete(down: Downstream, streamId: string): Promise<void> {
  harness.conversations.end(streamId);
  expect(await down.over()).toEqual({ kind: "completed" });
  await settle();
}

describe("same request, same conversation, same event (ID-04)", () => {
  it("is idempotent while it lives, whatever else the request says", async () => {
    await begin();
    expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1", text: "again" }))).status).toBe(200);
    expect((await append(peer, "req-1", 1, runRequest({ messageId: "m-1" }))).status).toBe(200);
    expect(submitted()).toBe(1);
  });

  it("lets a second downlink replace the first", async () => {
    const first = await begin();
    const second = runSse(peer, "req-1");
    await until(() => harness.conversations.downlinks.get("req-1#1")?.length === 2);
    expect(await first.over()).toMatchObject({ kind: "error", code: "aborted" });
    harness.conversations.downlink("req-1#1").write(text("to the second"));
    await complete(second, "req-1#1");
    expect(second.texts).toEqual(["to the second"]);
    expect(harness.conversations.lost).toEqual([]);
  });

  it("lets a second Run stream claim the Run, and its messages count", async () => {
    const h2 = harness.peer("h2c");
    const first = run(h2, "req-1");
    first.send(runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    const second = run(harness.peer("h2c"), "req-1");
    second.send(runRequest({ messageId: "m-1", text: "with a newer state" }));
    second.send(execResult(9));
    await until(() => harness.conversations.downlinks.get("req-1#1")?.length === 2);
    await until(() => harness.conversations.log.includes("exec req-1#1"));
    expect(await first.over()).toMatchObject({ kind: "error", code: "aborted" });
    expect(submitted()).toBe(1);
  });
});

describe("same request, same conversation, another event (ID-05)", () => {
  it.each([
    ["a new message id, from 0", { messageId: "m-2" }, 0],
    ["a new message id, from 1", { messageId: "m-2" }, 1],
    ["a new wire run id", { messageId: "m-1", runId: "run-b" }, 0],
  ] as const)("after the end is a new generation with its own sequence: %s", async (_, init, start) => {
    const first = await begin();
    await append(peer, "req-1", 1, kvResult(1));
    harness.conversations.downlink("req-1#1").write(text("old"));
    await complete(first, "req-1#1");
    expect((await append(peer, "req-1", start, runRequest(init))).status).toBe(200);
    const second = runSse(peer, "req-1");
    await until(() => harness.conversations.attached("req-1#2"));
    expect((await append(peer, "req-1", start + 1, execResult(1))).status).toBe(200);
    harness.conversations.downlink("req-1#2").write(text("new"));
    await complete(second, "req-1#2");
    expect(second.texts).toEqual(["new"]);
    expect(harness.conversations.log.filter((one) => one.endsWith("#2"))).toEqual([
      "run req-1#2",
      "attach req-1#2",
      "exec req-1#2",
    ]);
  });

  it("while it lives is a new generation as well; the old downlink stays with the old Run", async () => {
    const first = await begin();
    expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-2" }))).status).toBe(200);
    await append(peer, "req-1", 1, execResult(1));
    expect(harness.conversations.log.slice(2)).toEqual(["run req-1#2", "exec req-1#2"]);
    harness.conversations
      .downlink("req-1#1")
      .end({ kind: "error", failure: { code: "SUPERSEDED", title: "Superseded", detail: "", retryable: false } });
    expect(await first.over()).toMatchObject({ code: "aborted" });
    const second = runSse(peer, "req-1");
    await until(() => harness.conversations.attached("req-1#2"));
    await second.opened();
  });

  it("may open its downlink before its Run request: it gets the new output, not the old one", async () => {
    const first = await begin();
    harness.conversations.downlink("req-1#1").write(text("old"));
    await complete(first, "req-1#1");
    const second = runSse(peer, "req-1");
    await second.opened();
    await append(peer, "req-1", 0, runRequest({ messageId: "m-2" }));
    await until(() => harness.conversations.attached("req-1#2"));
    harness.clock.advance(5000);
    harness.conversations.downlink("req-1#2").write(text("new"));
    await complete(second, "req-1#2");
    expect(second.texts).toEqual(["new"]);
    expect(harness.conversations.log.filter((one) => one === "attach req-1#1")).toHaveLength(1);
  });

  it("holds what overtakes the next opening, and applies it after it", async () => {
    const first = await begin();
    await complete(first, "req-1#1");
    const early = append(peer, "req-1", 2, kvResult(5));
    await settle(30);
    await append(peer, "req-1", 1, runRequest({ messageId: "m-2" }));
    expect((await early).status).toBe(200);
    expect(harness.conversations.log.slice(2)).toEqual(["run req-1#2", "kv req-1#2"]);
  });

  it("counts on from what the store knows", async () => {
    harness.conversations.bind("ann", "req-1", "conv-1", 4, false);
    await append(peer, "req-1", 0, runRequest({ messageId: "m-9" }));
    expect(harness.conversations.log).toEqual(["run req-1#5"]);
  });

  it("after an end that no downlink saw is a new generation even for the same bytes' neighbour", async () => {
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    harness.conversations.end("req-1#1");
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1", text: "anew" }));
    expect(harness.conversations.log).toEqual(["run req-1#1", "run req-1#2"]);
  });
});

describe("same request, another conversation (ID-03)", () => {
  it("is a conflict on an append, and the first one is untouched", async () => {
    const down = await begin();
    const reply = await append(peer, "req-1", 0, runRequest({ conversationId: "conv-2", messageId: "m-2" }));
    expect([reply.status, codeOf(reply)]).toEqual([400, "failed_precondition"]);
    harness.conversations.downlink("req-1#1").write(text("untouched"));
    await complete(down, "req-1#1");
    expect(down.texts).toEqual(["untouched"]);
    expect(submitted()).toBe(1);
  });

  it("is a conflict on a Run stream, and the first one is untouched", async () => {
    const down = await begin();
    const stream = run(harness.peer("h2c"), "req-1");
    stream.send(runRequest({ conversationId: "conv-2", messageId: "m-2" }));
    expect(await stream.over()).toMatchObject({ kind: "error", code: "failed_precondition" });
    harness.conversations.downlink("req-1#1").write(text("untouched"));
    await complete(down, "req-1#1");
    expect(submitted()).toBe(1);
  });

  it("is a conflict after a restart too", async () => {
    harness.conversations.bind("ann", "req-1", "conv-1", 1, false);
    const reply = await append(peer, "req-1", 0, runRequest({ conversationId: "conv-2", messageId: "m-2" }));
    expect(codeOf(reply)).toBe("failed_precondition");
  });

  it("is none for another member: request ids are each member's own", async () => {
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    const bob = harness.peer("h1", "token-bob");
    expect((await append(bob, "req-1", 0, runRequest({ conversationId: "conv-2", messageId: "m-1" }))).status).toBe(
      200,
    );
    expect(harness.conversations.envelopes.map(({ generation }) => generation.member)).toEqual(["ann", "bob"]);
  });

  it("is told by the conversation when only it knows", async () => {
    const conflict = { code: "IDENTITY_CONFLICT", title: "Conflict", detail: "", retryable: false } as const;
    harness.conversations.onSubmit = () => ({ kind: "refused", failure: conflict });
    expect(codeOf(await append(peer, "req-1", 0, runRequest({ messageId: "m-1" })))).toBe("failed_precondition");
  });
});

describe("no conversation id", () => {
  it("is an error when nothing is bound (ID-01), and a waiting downlink is told", async () => {
    const down = runSse(peer, "req-1");
    await down.opened();
    await until(() => harness.conversations.lookUps === 1);
    const reply = await append(peer, "req-1", 0, runRequest({ conversationId: "", messageId: "m-1" }));
    expect([reply.status, codeOf(reply)]).toEqual([400, "invalid_argument"]);
    expect(await down.over()).toMatchObject({ kind: "error", code: "invalid_argument" });
    expect(submitted()).toBe(0);
  });

  it("takes the bound one (ID-02), from memory or from the store", async () => {
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    harness.conversations.end("req-1#1");
    await append(peer, "req-1", 0, runRequest({ conversationId: "", messageId: "m-2" }));
    harness.conversations.bind("ann", "req-2", "conv-7", 1, false);
    await append(peer, "req-2", 0, runRequest({ conversationId: "", messageId: "m-3" }));
    const ids = harness.conversations.envelopes.map(({ message }) =>
      message.kind === "run" ? message.request.conversationId : "",
    );
    expect(ids).toEqual(["conv-1", "conv-1", "conv-7"]);
  });
});

describe("two at once that cannot be told apart (ID-16)", () => {
  it("the second is refused on an append", async () => {
    await begin("req-1", {});
    const reply = await append(peer, "req-1", 0, runRequest({ text: "x", conversationId: "conv-1" }).subarray());
    expect(reply.status).toBe(200); // byte for byte the same at the same number: a repeat
    const other = await append(peer, "req-1", 1, Buffer.concat([runRequest({}), Buffer.from("9a060178", "hex")]));
    expect([other.status, codeOf(other)]).toEqual([400, "failed_precondition"]);
    expect(submitted()).toBe(1);
  });

  it("the second is refused on a Run stream, the first goes on", async () => {
    const first = run(harness.peer("h2c"), "req-1");
    const second = run(harness.peer("h2c"), "req-1");
    await Promise.all([first.opened(), second.opened()]);
    first.send(runRequest({}));
    await until(() => harness.conversations.attached("req-1#1"));
    second.send(Buffer.concat([runRequest({}), Buffer.from("9a060178", "hex")]));
    expect(await second.over()).toMatchObject({ kind: "error", code: "failed_precondition" });
    harness.conversations.downlink("req-1#1").write(text("first"));
    await complete(first, "req-1#1");
    expect(first.texts).toEqual(["first"]);
  });

  it("both that race are decided one after the other", async () => {
    const replies = await Promise.all([
      append(harness.peer(), "req-1", 0, runRequest({ messageId: "m-1" })),
      append(harness.peer(), "req-1", 0, runRequest({ messageId: "m-1", text: "the same event" })),
    ]);
    expect(replies.map((reply) => reply.status)).toEqual([200, 200]);
    expect(submitted()).toBe(1);
  });
});

describe("a downlink", () => {
  it("that comes after the end gets the stored output and terminal (TR-05)", async () => {
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    harness.conversations.end("req-1#1");
    harness.conversations.onAttach = (_, downlink) => {
      downlink.write(text("stored"));
      downlink.end({ kind: "completed" });
      return undefined;
    };
    const down = runSse(peer, "req-1");
    expect(await down.over()).toEqual({ kind: "completed" });
    expect(down.texts).toEqual(["stored"]);
  });

  it("that comes again after its terminal gets it again, a moment later", async () => {
    await complete(await begin(), "req-1#1");
    const again = runSse(peer, "req-1");
    await again.opened();
    await advancing(
      harness.clock,
      until(() => harness.conversations.downlinks.get("req-1#1")?.length === 2),
      100,
    );
    harness.conversations.downlink("req-1#1").write(text("replay"));
    harness.conversations.downlink("req-1#1").end({ kind: "completed" });
    expect(await again.over()).toEqual({ kind: "completed" });
    expect(again.texts).toEqual(["replay"]);
  });

  it("of a generation that an earlier process began is given to it: at once while it lives", async () => {
    harness.conversations.bind("ann", "req-1", "conv-1", 2, true);
    runSse(peer, "req-1");
    await until(() => harness.conversations.attached("req-1#2"));
  });

  it("of a generation that an earlier process ended is given to it after a moment", async () => {
    harness.conversations.bind("ann", "req-1", "conv-1", 2, false);
    await runSse(peer, "req-1").opened();
    await advancing(
      harness.clock,
      until(() => harness.conversations.attached("req-1#2")),
      100,
    );
  });

  it("waits at most 60 s without a Run, with heartbeats, then gets a clear error", async () => {
    const down = runSse(peer, "req-1");
    await down.opened();
    const begun = harness.clock.now();
    expect(await advancing(harness.clock, down.over(), 500)).toMatchObject({
      kind: "error",
      code: "deadline_exceeded",
    });
    expect(harness.clock.now() - begun).toBeGreaterThanOrEqual(59_000);
    expect(down.heartbeats).toBeGreaterThanOrEqual(11);
    expect(down.content).toEqual([]);
  });

  it("waits as long on a Run stream that says nothing", async () => {
    const stream = run(harness.peer("h2c"), "req-1");
    await stream.opened();
    expect(await advancing(harness.clock, stream.over(), 500)).toMatchObject({
      kind: "error",
      code: "deadline_exceeded",
    });
  });

  it("that waits is replaced by a newer one", async () => {
    const first = runSse(peer, "req-1");
    await first.opened();
    await until(() => harness.conversations.lookUps === 1);
    const second = runSse(peer, "req-1");
    expect(await first.over()).toMatchObject({ kind: "error", code: "aborted" });
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    harness.conversations.downlink("req-1#1").write(text("second"));
    await complete(second, "req-1#1");
    expect(second.texts).toEqual(["second"]);
  });

  it("is refused by the conversation with its reason", async () => {
    const failure = { code: "NOT_OWNER", title: "Busy", detail: "", retryable: true } as const;
    harness.conversations.bind("ann", "req-1", "conv-1", 1, true);
    harness.conversations.onAttach = () => ({ kind: "refused", failure });
    expect(await runSse(peer, "req-1").over()).toMatchObject({ kind: "error", code: "unavailable" });
  });
});

describe("an answer without a Run", () => {
  it("is an empty finished turn, on either half first", async () => {
    harness.conversations.onSubmit = () => ({ kind: "finishedTurn", conversationId: "conv-1" as never });
    for (const [requestId, sseFirst] of [
      ["req-1", true],
      ["req-2", false],
    ] as const) {
      const early = sseFirst ? runSse(peer, requestId) : undefined;
      await early?.opened();
      expect((await append(peer, requestId, 0, runRequest({ messageId: "m-1" }))).status).toBe(200);
      const down = early ?? runSse(peer, requestId);
      expect(await down.over()).toEqual({ kind: "completed" });
      expect(down.texts).toEqual(["turnEnded"]);
    }
    const stream = run(harness.peer("h2c"), "req-3");
    stream.send(runRequest({ messageId: "m-1" }));
    expect(await stream.over()).toEqual({ kind: "completed" });
    expect(stream.texts).toEqual(["turnEnded"]);
  });

  it("is a refusal on the stream, not on the append", async () => {
    const failure = {
      code: "LOCAL_CAPACITY",
      title: "Server is full",
      detail: "Too many Runs.",
      retryable: false,
    } as const;
    harness.conversations.onSubmit = () => ({ kind: "refused", failure });
    for (const [requestId, sseFirst] of [
      ["req-1", true],
      ["req-2", false],
    ] as const) {
      const early = sseFirst ? runSse(peer, requestId) : undefined;
      await early?.opened();
      expect((await append(peer, requestId, 0, runRequest({ messageId: "m-1" }))).status).toBe(200);
      const down = early ?? runSse(peer, requestId);
      expect(await down.over()).toMatchObject({
        kind: "error",
        code: "resource_exhausted",
        details: { details: { title: "Server is full", isRetryable: false } },
      });
    }
  });
});

describe("exchanges", () => {
  it("are forgotten when nobody uses them, and found again by what the store knows", async () => {
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    harness.clock.advance(700_000);
    const before = harness.conversations.lookUps;
    expect((await append(peer, "req-1", 1, execResult(1))).status).toBe(200);
    expect(harness.conversations.lookUps).toBe(before + 1);
    expect(harness.conversations.log).toEqual(["run req-1#1", "exec req-1#1"]);
  });

  it("are bounded: the longest unused one makes room, and none that is in use does", async () => {
    await harness.close();
    harness = await startGateway({ limits: { maxExchanges: 2 } });
    peer = harness.peer();
    const down = await begin();
    await append(peer, "req-2", 0, runRequest({ messageId: "m-2" }));
    const third = runSse(peer, "req-3");
    await third.opened();
    await until(() => harness.conversations.lookUps === 3);
    expect(await runSse(peer, "req-4").over()).toMatchObject({ kind: "error", code: "resource_exhausted" });
    const refused = await append(peer, "req-5", 0, runRequest({ messageId: "m-5" }));
    expect(codeOf(refused)).toBe("resource_exhausted");
    harness.conversations.downlink("req-1#1").write(text("in use"));
    await complete(down, "req-1#1");
    expect(down.texts).toEqual(["in use"]);
  });
});
