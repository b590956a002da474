import net from "node:net";
import type { Downlink } from "@chartroom/domain";
import { encodeUpdate, FrameReader } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { append, clientMessage, run, runRequest, runSse } from "../support/gateway/agent-client.ts";
import { type Harness, startGateway } from "../support/gateway/harness.ts";
import type { PeerKind } from "../support/gateway/peer.ts";
import { advancing, settle, until } from "../support/gateway/until.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startGateway();
});
afterEach(() => harness.close());

const KINDS = ["h1", "h2c", "tls-h1", "tls-h2"] as const;
const text = (value: string): Uint8Array => encodeUpdate({ kind: "text", text: value });

async function attached(
  kind: PeerKind = "h1",
): Promise<{ readonly down: ReturnType<typeof runSse>; readonly downlink: Downlink }> {
  const peer = harness.peer(kind);
  const down = runSse(peer, "req-1");
  await down.opened();
  await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
  await until(() => harness.conversations.attached("req-1#1"));
  return { down, downlink: harness.conversations.downlink("req-1#1") };
}

/** Writes as a reader of the output log does: waits when it is told to. Gives how often it wrote before nothing moved any more. */
async function fill(downlink: Downlink, chunk: Uint8Array, drained: () => number): Promise<number> {
  const most = (64 * 1024 * 1024) / chunk.byteLength;
  for (let written = 1; written < most; written += 1) {
    const before = drained();
    if (downlink.write(chunk)) {
      await settle(1);
      continue;
    }
    for (let turn = 0; turn < 50 && drained() === before; turn += 1) await settle(1);
    if (drained() === before) return written;
  }
  throw new Error("the server kept 64 MiB for a client that reads nothing");
}

describe("heartbeats", () => {
  it("come every 5 s, a tenth more or less, while a stream waits", async () => {
    for (const [random, firstMs] of [
      [0, 4500],
      [0.999, 5499],
    ] as const) {
      await harness.close();
      harness = await startGateway({ entropy: { uuid: () => "id", random: () => random } });
      const down = runSse(harness.peer(), "req-1");
      await down.opened();
      await settle();
      harness.clock.advance(firstMs - 1);
      await settle();
      expect(down.heartbeats).toBe(1);
      harness.clock.advance(1);
      await until(() => down.heartbeats === 2);
      harness.clock.advance(firstMs);
      await until(() => down.heartbeats === 3);
    }
  });

  it("stay away while messages go out, and leave the Run's own beats the time to come first", async () => {
    const { down, downlink } = await attached();
    for (let second = 0; second < 30; second += 1) {
      downlink.write(text("word"));
      await down.got(second + 1);
      harness.clock.advance(1000);
    }
    expect(down.heartbeats).toBe(1);
    for (let beat = 0; beat < 6; beat += 1) {
      harness.clock.advance(5500);
      downlink.write(encodeUpdate({ kind: "heartbeat" }));
      await until(() => down.heartbeats === beat + 2);
    }
    await settle();
    expect(down.heartbeats).toBe(7);
    harness.clock.advance(10_000);
    await until(() => down.heartbeats === 8);
  });

  it("end with the stream, and leave no timer", async () => {
    const before = harness.clock.pending;
    const { down } = await attached();
    harness.conversations.end("req-1#1");
    await down.over();
    await until(() => harness.clock.pending <= before + 1, "the last timer: that of the exchanges");
  });
});

describe.each(KINDS)("a lost transport over %s", (kind) => {
  it("is told once, and what is written to it after that is dropped", async () => {
    const { down, downlink } = await attached(kind);
    expect(downlink.closed).toBe(false);
    down.call.abort();
    await until(() => harness.conversations.lost.length === 1, "the loss");
    expect(downlink.closed).toBe(true);
    expect(downlink.write(text("nobody reads this"))).toBe(true);
    downlink.end({ kind: "completed" });
    harness.clock.advance(60_000);
    await settle();
    expect(harness.conversations.lost).toEqual(["req-1#1"]);
  });

  it("is not told after its terminal", async () => {
    const { down, downlink } = await attached(kind);
    downlink.end({ kind: "completed" });
    expect(downlink.closed).toBe(true);
    await down.over();
    down.call.abort();
    await settle(20);
    expect(harness.conversations.lost).toEqual([]);
  });

  it("does not end what another stream of the same client does", async () => {
    const { down, downlink } = await attached(kind);
    const other = runSse(harness.peer(kind), "req-2");
    await other.opened();
    other.call.abort();
    await settle(20);
    downlink.write(text("goes on"));
    downlink.end({ kind: "completed" });
    expect(await down.over()).toEqual({ kind: "completed" });
  });
});

it("takes the first terminal and no second", async () => {
  const { down, downlink } = await attached();
  downlink.write(text("last"));
  downlink.end({ kind: "completed" });
  downlink.end({ kind: "error", failure: { code: "INTERNAL", title: "x", detail: "", retryable: false } });
  downlink.write(text("after the end"));
  expect(await down.over()).toEqual({ kind: "completed" });
  expect(down.texts).toEqual(["last"]);
  expect(down.broken).toBeUndefined();
});

it("tells of a loss to one who listens too late", async () => {
  const { down, downlink } = await attached();
  down.call.abort();
  await until(() => downlink.closed);
  let told = 0;
  downlink.onLost(() => (told += 1));
  await settle();
  expect(told).toBe(1);
});

it("writes what one tick brings as one chunk", async () => {
  const { down, downlink } = await attached();
  const { down: raw } = await down.call.head;
  const sizes: number[] = [];
  raw.on("data", (chunk: Buffer) => sizes.push(chunk.byteLength));
  for (let index = 0; index < 50; index += 1) downlink.write(text(`word ${index}`));
  await down.got(50);
  expect(sizes).toHaveLength(1);
});

describe.each(KINDS)("a slow reader over %s (TR-10)", (kind) => {
  it("makes the writer wait, and gets everything when it reads on", async () => {
    const { down, downlink } = await attached(kind);
    down.pause();
    const chunk = text("x".repeat(16 * 1024));
    let drained = 0;
    downlink.onDrain(() => (drained += 1));
    const written = await fill(downlink, chunk, () => drained);
    const before = drained;
    down.resume();
    await until(() => drained > before, "the drain");
    downlink.write(text("last"));
    downlink.end({ kind: "completed" });
    expect(await down.over()).toEqual({ kind: "completed" });
    expect(down.texts).toHaveLength(written + 1);
  });
});

it("gives up a transport whose writer does not wait, not the process", async () => {
  await harness.close();
  harness = await startGateway({ limits: { downlinkBytes: 1024 * 1024 } });
  const { down, downlink } = await attached();
  down.pause();
  const chunk = text("x".repeat(64 * 1024));
  for (let index = 0; index < 2000 && !downlink.closed; index += 1) {
    downlink.write(chunk);
    await settle(1);
  }
  expect(downlink.closed).toBe(true);
  expect(harness.conversations.lost).toEqual(["req-1#1"]);
});

it("gives a slow reader only so long after the terminal", async () => {
  const { down, downlink } = await attached();
  down.pause();
  let drained = 0;
  downlink.onDrain(() => (drained += 1));
  await fill(downlink, text("x".repeat(256 * 1024)), () => drained);
  downlink.end({ kind: "completed" });
  await settle(20);
  harness.clock.advance(120_000);
  await settle();
  down.resume();
  expect(await down.over()).toBeUndefined();
  expect(down.broken).toBeInstanceOf(Error);
  expect(harness.conversations.lost).toEqual([]);
});

it("reads a stream frame by frame on a bare socket: chunks hold whole envelopes", async () => {
  const socket = net.connect(harness.port, "127.0.0.1");
  const head =
    "POST /agent.v1.AgentService/RunSSE HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-ann\r\ncontent-type: application/connect+proto\r\n";
  const body = Buffer.from([0, 0, 0, 0, 7, 0x0a, 5, ...Buffer.from("req-1")]);
  socket.write(Buffer.concat([Buffer.from(`${head}content-length: ${body.byteLength}\r\n\r\n`), body]));
  let got = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => (got = Buffer.concat([got, chunk])));
  await until(() => got.includes("\r\n\r\n") && got.subarray(got.indexOf("\r\n\r\n")).byteLength > 10);
  const [headers = "", rest = ""] = got.toString("latin1").split("\r\n\r\n");
  expect(headers).toContain("HTTP/1.1 200 OK");
  expect(headers.toLowerCase()).toContain("transfer-encoding: chunked");
  const [size = ""] = rest.split("\r\n");
  const chunk = Buffer.from(rest, "latin1").subarray(size.length + 2, size.length + 2 + Number.parseInt(size, 16));
  const frames = new FrameReader("connect").push(chunk);
  expect(frames.ok && frames.value).toHaveLength(1);
  socket.destroy();
});

it("pauses an uplink whose messages wait for the conversation, and reads on after that", async () => {
  await harness.close();
  harness = await startGateway({ limits: { uplinkMessages: 4, uplinkBytes: 100_000 } });
  const stream = run(harness.peer("h2c"), "req-1");
  const receipt = Promise.withResolvers<undefined>();
  harness.conversations.onSubmit = () => receipt.promise as Promise<never>;
  stream.send(runRequest({ messageId: "m-1" }));
  const blobData = new Uint8Array(128 * 1024);
  const message = clientMessage({
    case: "kvClientMessage",
    value: { id: 1, message: { case: "getBlobResult", value: { blobData } } },
  });
  for (let index = 0; index < 48; index += 1) stream.send(message);
  await settle(100);
  expect(stream.call.up.writableLength, "everything was taken").toBeGreaterThan(2_000_000);
  receipt.resolve(undefined);
  await until(
    () => harness.conversations.calls.filter((call) => call.kind === "kv").length === 48,
    "the rest to be read",
  );
});

it("drops a waiting stream that is aborted, and forgets its timers", async () => {
  const down = runSse(harness.peer(), "req-1");
  await down.opened();
  await until(() => harness.conversations.lookUps === 1);
  down.call.abort();
  await advancing(
    harness.clock,
    until(() => harness.clock.pending <= 1),
  );
  expect(harness.conversations.log).toEqual([]);
});
