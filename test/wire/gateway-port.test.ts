import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { createGateway } from "@chartroom/gateway";
import { encodeUpdate } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { append, run, runRequest, runSse } from "../support/gateway/agent-client.ts";
import { FakeConversations } from "../support/gateway/fake-conversations.ts";
import { type Harness, principalOf, startGateway } from "../support/gateway/harness.ts";
import { countedEntropy, ManualClock } from "../support/gateway/manual-clock.ts";
import { PEER_KINDS } from "../support/gateway/peer.ts";
import { settle, until } from "../support/gateway/until.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startGateway();
});
afterEach(() => harness.close());

it.each(PEER_KINDS)("answers over %s on the one port", async (kind) => {
  const reply = await harness.peer(kind).send("GET", "/healthz");
  expect([reply.status, JSON.parse(reply.body.toString())]).toEqual([200, { ok: true }]);
});

it("keeps a connection of HTTP/1.1 open for the next call", async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ports: (number | undefined)[] = [];
  for (let call = 0; call < 3; call += 1) {
    const response = await new Promise<http.IncomingMessage>((resolve) =>
      http.get({ port: harness.port, path: "/healthz", agent }, resolve),
    );
    ports.push(response.socket.localPort);
    response.resume();
    await new Promise((resolve) => response.once("close", resolve));
  }
  expect(new Set(ports).size).toBe(1);
  agent.destroy();
});

it("tells protocols apart when the first bytes come one by one", async () => {
  const socket = net.connect(harness.port, "127.0.0.1");
  let got = "";
  socket.on("data", (chunk) => (got += chunk.toString()));
  for (const byte of "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n") {
    socket.write(byte);
    await settle(1);
  }
  await until(() => got.includes(`{"ok":true}`));

  const second = net.connect(harness.port, "127.0.0.1");
  const frames: Buffer[] = [];
  second.on("data", (chunk) => frames.push(chunk));
  for (const byte of "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
    second.write(byte);
    await settle(1);
  }
  second.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
  await until(() => frames.length > 0);
  expect(Buffer.concat(frames)[3]).toBe(4); // a SETTINGS frame
  second.destroy();
});

it("closes a connection that does not say what it is", async () => {
  const socket = net.connect(harness.port, "127.0.0.1");
  let closed = false;
  socket.on("close", () => (closed = true));
  socket.on("error", () => undefined);
  socket.write("PRI");
  await new Promise((resolve) => socket.once("connect", resolve));
  await until(() => harness.clock.pending > 0);
  harness.clock.advance(10_000);
  await until(() => closed);
});

it("closes a TLS connection when it has no certificate", async () => {
  const gateway = createGateway({
    conversations: new FakeConversations(),
    clock: new ManualClock(),
    entropy: countedEntropy(),
    authenticate: () => ({ ok: true, value: principalOf("ann") }),
    apis: [],
    readiness: () => ({ ready: true }),
    events: () => undefined,
    report: () => undefined,
  });
  const { port } = await gateway.listen("127.0.0.1", 0);
  const socket = net.connect(port, "127.0.0.1");
  let closed = false;
  socket.on("close", () => (closed = true));
  socket.on("error", () => undefined);
  socket.write(Buffer.from([0x16, 3, 1, 0, 5]));
  await until(() => closed);
  await gateway.close();
});

it("rejects when the port is taken", async () => {
  const gateway = createGateway({
    conversations: new FakeConversations(),
    clock: new ManualClock(),
    entropy: countedEntropy(),
    authenticate: () => ({ ok: true, value: principalOf("ann") }),
    apis: [],
    readiness: () => ({ ready: true }),
    events: () => undefined,
    report: () => undefined,
  });
  await expect(gateway.listen("127.0.0.1", harness.port)).rejects.toMatchObject({ code: "EADDRINUSE" });
  await gateway.close();
});

it.each([
  "",
  "\r\n\r\n",
  "GET / HTTP/9\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nnonsense that is no frame at all......",
  "\u0016\u0003\u0001 no handshake at all",
])("survives a client that speaks nonsense: %j", async (nonsense) => {
  const socket = net.connect(harness.port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(Buffer.from(nonsense, "latin1"));
  socket.end();
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
  expect((await harness.peer().send("GET", "/healthz")).status).toBe(200);
});

describe("drain", () => {
  it("ends what waits, refuses what is new, and lets what runs end (LC-26)", async () => {
    const peer = harness.peer("h2c");
    const waiting = runSse(peer, "req-wait");
    const silent = run(harness.peer("h2c"), "req-silent");
    const running = runSse(peer, "req-1");
    await Promise.all([waiting.opened(), silent.opened(), running.opened()]);
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));

    let drained = false;
    const draining = harness.gateway.drain(30_000).then(() => (drained = true));
    for (const down of [waiting, silent]) {
      expect(await down.over()).toMatchObject({
        kind: "error",
        code: "unavailable",
        details: { details: { isRetryable: true } },
      });
    }
    await settle();
    expect(drained).toBe(false);
    harness.conversations.downlink("req-1#1").write(encodeUpdate({ kind: "text", text: "to the end" }));
    harness.conversations.end("req-1#1");
    expect(await running.over()).toEqual({ kind: "completed" });
    expect(running.texts).toEqual(["to the end"]);
    // the Run stream whose client has not closed its side is closed for it
    harness.clock.advance(1000);
    await draining;
    await expect(harness.peer("h1").send("GET", "/healthz")).rejects.toThrow("ECONNREFUSED");
  });

  it("refuses a Run request that comes over an open stream", async () => {
    const stream = run(harness.peer("h2c"), "req-1");
    const busy = runSse(harness.peer(), "req-2");
    await Promise.all([stream.opened(), busy.opened()]);
    await append(harness.peer(), "req-2", 0, runRequest({ messageId: "m-2" }));
    await until(() => harness.conversations.attached("req-2#1"));
    const draining = harness.gateway.drain(1000);
    stream.send(runRequest({ messageId: "m-1" }));
    expect(await stream.over()).toMatchObject({ code: "unavailable" });
    expect(harness.conversations.envelopes).toHaveLength(1);
    await settle();
    harness.clock.advance(1000);
    await draining;
    expect(await busy.over()).toBeUndefined();
    expect(harness.conversations.lost).toEqual(["req-2#1"]);
  });

  it.each(["h1", "tls-h1"] as const)(
    "closes an idle connection of %s at once, and one whose answer ends later",
    async (kind) => {
      const peer = harness.peer(kind);
      await peer.send("GET", "/healthz");
      const down = runSse(peer, "req-1");
      await down.opened();
      const draining = harness.gateway.drain(60_000);
      await down.over();
      await draining;
      expect(harness.clock.pending).toBeLessThanOrEqual(1);
    },
  );

  it("sends GOAWAY to clients of HTTP/2", async () => {
    const session = http2.connect(`http://127.0.0.1:${harness.port}`);
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    let away = false;
    session.once("goaway", () => (away = true));
    await harness.gateway.drain(10_000);
    await until(() => away || session.destroyed);
    expect(away).toBe(true);
  });
});
