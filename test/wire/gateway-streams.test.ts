import { encodeUpdate } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  append,
  clientMessage,
  Downstream,
  execResult,
  heartbeat,
  kvResult,
  prewarm,
  run,
  RUN_SSE,
  runRequest,
  runSse,
  type StreamDialect,
} from "../support/gateway/agent-client.ts";
import { type Harness, startGateway } from "../support/gateway/harness.ts";
import { PEER_KINDS, type PeerKind } from "../support/gateway/peer.ts";
import { settle, until } from "../support/gateway/until.ts";

const text = (value: string): Uint8Array => encodeUpdate({ kind: "text", text: value });
const FAILURE = {
  code: "PROVIDER_SERVER",
  title: "Provider error",
  detail: "The model provider failed.",
  retryable: true,
} as const;

let harness: Harness;
beforeEach(async () => {
  harness = await startGateway();
});
afterEach(() => harness.close());

const WAYS = PEER_KINDS.flatMap((kind) => (["connect", "grpcWeb"] as const).map((dialect) => ({ kind, dialect })));

describe.each(WAYS)("RunSSE with appends over $kind in $dialect", ({ kind, dialect }) => {
  it("runs a turn: headers and a heartbeat at once, messages in order, one terminal", async () => {
    const peer = harness.peer(kind);
    const down = runSse(peer, "req-1", dialect);
    await down.opened();
    expect(down.status).toBe(200);
    expect(down.headers["content-type"]).toBe(
      dialect === "connect" ? "text/event-stream" : "application/grpc-web+proto",
    );
    expect(harness.conversations.log).toEqual([]);

    const reply = await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    expect([reply.status, reply.body.byteLength]).toEqual([200, 0]);
    await until(() => harness.conversations.attached("req-1#1"));
    expect(harness.conversations.log).toEqual(["run req-1#1", "attach req-1#1"]);

    const downlink = harness.conversations.downlink("req-1#1");
    for (const word of ["one", "two", "three"]) downlink.write(text(word));
    await down.got(3);
    expect((await append(peer, "req-1", 1, kvResult(1))).status).toBe(200);
    expect((await append(peer, "req-1", 2, execResult(1))).status).toBe(200);
    downlink.write(text("four"));
    harness.conversations.end("req-1#1");
    expect(await down.over()).toEqual({ kind: "completed" });
    expect(down.texts).toEqual(["one", "two", "three", "four"]);
    expect(down.broken).toBeUndefined();
    expect(harness.conversations.log.slice(2)).toEqual(["kv req-1#1", "exec req-1#1"]);
    expect(harness.conversations.lost).toEqual([]);
  });

  it("ends with an error that carries ErrorDetails, status 200", async () => {
    const peer = harness.peer(kind);
    const down = runSse(peer, "req-1", dialect);
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    harness.conversations.end("req-1#1", { kind: "error", failure: FAILURE });
    expect(await down.over()).toMatchObject({
      kind: "error",
      code: "unavailable",
      message: "Provider error",
      details: { details: { title: "Provider error", detail: "The model provider failed.", isRetryable: true } },
    });
    expect(down.status).toBe(200);
  });

  it("takes the append before the downlink", async () => {
    const peer = harness.peer(kind);
    expect((await append(peer, "req-1", 1, runRequest({ messageId: "m-1" }))).status).toBe(200);
    expect(harness.conversations.log).toEqual(["run req-1#1"]);
    const down = runSse(peer, "req-1", dialect);
    await until(() => harness.conversations.attached("req-1#1"));
    harness.conversations.downlink("req-1#1").write(text("late but whole"));
    harness.conversations.end("req-1#1");
    expect(await down.over()).toEqual({ kind: "completed" });
    expect(down.texts).toEqual(["late but whole"]);
  });
});

describe.each(["h2c", "tls-h2"] as const)("Run over %s", (kind: PeerKind) => {
  it.each(["connect", "grpcWeb"] as const)(
    "carries both directions in one call, in %s",
    async (dialect: StreamDialect) => {
      const stream = run(harness.peer(kind), "req-1", dialect);
      await stream.opened();
      stream.send(runRequest({ messageId: "m-1" }));
      await until(() => harness.conversations.attached("req-1#1"));
      const downlink = harness.conversations.downlink("req-1#1");
      downlink.write(text("question"));
      await stream.got(1);
      stream.send(execResult(7));
      await until(() => harness.conversations.log.includes("exec req-1#1"));
      downlink.write(text("answer"));
      harness.conversations.end("req-1#1");
      expect(await stream.over()).toEqual({ kind: "completed" });
      expect(stream.texts).toEqual(["question", "answer"]);
      expect(stream.headers["content-type"]).toBe(
        dialect === "connect" ? "application/connect+proto" : "application/grpc-web+proto",
      );
    },
  );

  it("speaks gRPC: the status comes as trailers", async () => {
    const call = harness
      .peer(kind)
      .open("POST", "/agent.v1.AgentService/Run", { "content-type": "application/grpc", te: "trailers" });
    const stream = new Downstream(call, "connect");
    await stream.opened();
    expect(stream.headers["content-type"]).toBe("application/grpc+proto");
    call.up.write(
      Buffer.concat([
        Buffer.from([0, 0, 0, 0, runRequest({ messageId: "m-1" }).byteLength]),
        runRequest({ messageId: "m-1" }),
      ]),
    );
    await until(() => harness.conversations.calls.some((one) => one.kind === "attach"));
    const streamId = harness.conversations.envelopes[0]?.generation.streamId ?? "";
    harness.conversations.downlink(streamId).write(text("over gRPC"));
    harness.conversations.end(streamId, { kind: "error", failure: FAILURE });
    await stream.over();
    expect(stream.texts).toEqual(["over gRPC"]);
    expect(call.trailers()).toMatchObject({ "grpc-status": "14", "grpc-message": "Provider%20error" });
  });

  it("takes a prewarm before its Run request on the same stream", async () => {
    const stream = run(harness.peer(kind), "req-1");
    stream.send(prewarm());
    stream.send(runRequest({ messageId: "m-1" }));
    stream.send(execResult(1));
    await until(() => harness.conversations.log.includes("exec req-1#1"));
    await until(() => harness.conversations.attached("req-1#1"));
    harness.conversations.downlink("req-1#1").write(text("warm"));
    harness.conversations.end("req-1#1");
    expect(await stream.over()).toEqual({ kind: "completed" });
    expect(stream.texts).toEqual(["warm"]);
    const kinds = harness.conversations.log.filter((one) => !one.startsWith("attach"));
    expect(kinds).toEqual(["prewarm req-1#1", "run req-1#1", "exec req-1#1"]);
  });

  it("drops a second opening on one stream, and goes on", async () => {
    const stream = run(harness.peer(kind), "req-1");
    stream.send(runRequest({ messageId: "m-1" }));
    stream.send(runRequest({ messageId: "m-2" }));
    stream.send(kvResult(1));
    await until(() => harness.conversations.log.includes("kv req-1#1"));
    expect(harness.conversations.envelopes).toHaveLength(1);
    expect(harness.events).toEqual([
      expect.objectContaining({ type: "input.dropped", reason: "second opening on one stream" }),
    ]);
    expect(stream.closed).toBe(false);
  });

  it("drops a message that comes before the opening of its stream", async () => {
    const stream = run(harness.peer(kind), "req-1");
    stream.send(kvResult(1));
    stream.send(runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    expect(harness.conversations.log[0]).toBe("run req-1#1");
    expect(harness.events).toHaveLength(1);
  });

  it("ends when a message of it could not be kept", async () => {
    const stream = run(harness.peer(kind), "req-1");
    stream.send(runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    const failure = { code: "STORE_UNAVAILABLE", title: "Storage unavailable", detail: "", retryable: true } as const;
    harness.conversations.onReply = () => ({ kind: "refused", failure });
    stream.send(execResult(1));
    expect(await stream.over()).toMatchObject({ kind: "error", code: "unavailable" });
    expect(harness.conversations.lost).toEqual(["req-1#1"]);
  });

  it("goes on when the client has closed its side", async () => {
    const stream = run(harness.peer(kind), "req-1");
    stream.send(runRequest({ messageId: "m-1" }));
    stream.call.up.end();
    await until(() => harness.conversations.attached("req-1#1"));
    harness.conversations.downlink("req-1#1").write(text("still here"));
    harness.conversations.end("req-1#1");
    await stream.over();
    expect(stream.texts).toEqual(["still here"]);
  });

  it("closes a stream that the client leaves open after the terminal", async () => {
    const peer = harness.peer(kind);
    const stream = run(peer, "req-1");
    stream.send(runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
    harness.conversations.end("req-1#1");
    expect(await stream.over()).toEqual({ kind: "completed" });
    let closed = false;
    stream.call.up.once("close", () => (closed = true));
    await settle();
    expect(closed).toBe(false);
    harness.clock.advance(1000);
    await until(() => closed, "the reset");
  });
});

it("keeps fifty chats apart, on every kind of transport (ID-10)", async () => {
  const chats = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const peer = harness.peer(PEER_KINDS[index % PEER_KINDS.length]);
      const requestId = `req-${index}`;
      const init = { conversationId: `conv-${index}`, messageId: `m-${index}` };
      if (index % 2 === 1) {
        const stream = run(peer.kind.endsWith("h1") ? harness.peer("h2c") : peer, requestId);
        stream.send(runRequest(init));
        return { index, requestId, down: stream };
      }
      const down = runSse(peer, requestId, index % 3 === 0 ? "grpcWeb" : "connect");
      await append(peer, requestId, index % 2, runRequest(init));
      return { index, requestId, down };
    }),
  );
  await until(() => chats.every(({ requestId }) => harness.conversations.attached(`${requestId}#1`)));
  for (let word = 0; word < 20; word += 1) {
    for (const { index, requestId } of chats)
      harness.conversations.downlink(`${requestId}#1`).write(text(`<${index}>`));
    await settle(1);
  }
  for (const { requestId } of chats) harness.conversations.end(`${requestId}#1`);
  for (const { index, down } of chats) {
    expect(await down.over()).toEqual({ kind: "completed" });
    expect(down.texts.join("")).toBe(`<${index}>`.repeat(20));
  }
});

it("refuses Run over HTTP/1.1 with status 505", async () => {
  const reply = await harness
    .peer("h1")
    .send("POST", "/agent.v1.AgentService/Run", { "content-type": "application/connect+proto" });
  expect(reply.status).toBe(505);
});

it("gives a Run without a request id an id of the server's own, new for each stream", async () => {
  const peer = harness.peer("h2c");
  for (const conversationId of ["conv-1", "conv-2"])
    run(peer, undefined).send(runRequest({ conversationId, messageId: "m-1" }));
  await until(() => harness.conversations.calls.filter((call) => call.kind === "attach").length === 2);
  const ids = harness.conversations.envelopes.map(({ generation }) => generation.requestId as string);
  expect(new Set(ids).size).toBe(2);
  const down = runSse(peer, ids[0] ?? "");
  await down.opened();
  await settle();
  // the binding that the store keeps is found, but it is the store that speaks: nothing of the open exchange is shared
  expect(harness.conversations.lookUps).toBe(1);
});

it("hands a client's heartbeat to nobody and answers it", async () => {
  const peer = harness.peer();
  expect((await append(peer, "req-9", 5, heartbeat)).status).toBe(200);
  const stream = run(harness.peer("h2c"), "req-1");
  stream.send(runRequest({ messageId: "m-1" }));
  stream.send(heartbeat);
  stream.send(kvResult(1));
  await until(() => harness.conversations.log.includes("kv req-1#1"));
  expect(harness.conversations.log).toEqual(["run req-1#1", "attach req-1#1", "kv req-1#1"]);
});

it("refuses a content type that no stream has", async () => {
  const reply = await harness.peer().send("POST", RUN_SSE, { "content-type": "application/json" }, "{}");
  expect(reply.status).toBe(415);
});

it("tells of a message that it does not know", async () => {
  const peer = harness.peer();
  await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
  expect((await append(peer, "req-1", 1, new Uint8Array())).status).toBe(200);
  expect(harness.events).toEqual([{ type: "input.dropped", conversationId: "conv-1", reason: "unknown message" }]);
  expect(clientMessage({ case: "clientHeartbeat", value: {} }).byteLength).toBeGreaterThan(0);
});
