import { gzipSync } from "node:zlib";
import { encodeFrame, encodeUpdate, FLAG_COMPRESSED, FLAG_END_STREAM, FLAG_TRAILERS } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  append,
  appendBody,
  BIDI_APPEND,
  Downstream,
  kvResult,
  RUN,
  run,
  RUN_SSE,
  runRequest,
  runSse,
} from "../support/gateway/agent-client.ts";
import { type Harness, startGateway } from "../support/gateway/harness.ts";
import { settle, until } from "../support/gateway/until.ts";

const CONNECT = "application/connect+proto";
const MIB = 1024 * 1024;
const LIMIT = 64 * MIB;
/** Moving so much takes its time on a busy machine. */
const LARGE = { timeout: 60_000 };

let harness: Harness;
beforeEach(async () => {
  harness = await startGateway();
});
afterEach(() => harness.close());

describe("frames of a Run stream (TR-12)", () => {
  it("are read wherever the stream is split", LARGE, async () => {
    const request = encodeFrame(0, runRequest({ messageId: "m-1" }));
    const bytes = Buffer.concat([
      request,
      encodeFrame(0, kvResult(3)),
      encodeFrame(FLAG_COMPRESSED, gzipSync(kvResult(4))),
    ]);
    for (let cut = 0; cut <= bytes.byteLength; cut += 1) {
      const peer = harness.peer("h2c");
      const requestId = `req-${cut}`;
      const call = peer.open("POST", RUN, { "content-type": CONNECT, "x-request-id": requestId });
      const stream = new Downstream(call, "connect");
      await stream.opened();
      call.up.write(bytes.subarray(0, cut));
      await settle(2);
      call.up.write(bytes.subarray(cut));
      await until(() => harness.conversations.log.filter((one) => one === `kv ${requestId}#1`).length === 2);
      peer.close();
    }
    const kvIds = harness.conversations.calls.flatMap((call) => (call.kind === "kv" ? [call.reply.kvId] : []));
    expect(kvIds).toHaveLength(2 * (bytes.byteLength + 1));
    expect(new Set(kvIds.filter((_, index) => index % 2 === 0))).toEqual(new Set([3]));
  });

  it("are read one byte at a time", async () => {
    const call = harness.peer("h2c").open("POST", RUN, { "content-type": CONNECT, "x-request-id": "req-1" });
    const stream = new Downstream(call, "connect");
    await stream.opened();
    for (const byte of encodeFrame(0, runRequest({ messageId: "m-1" }))) call.up.write(Uint8Array.of(byte));
    await until(() => harness.conversations.attached("req-1#1"));
  });

  it.each([
    ["an end-of-stream frame", encodeFrame(FLAG_END_STREAM, Buffer.from("{}"))],
    ["trailers", encodeFrame(FLAG_TRAILERS, Buffer.from("grpc-status: 0\r\n"))],
    ["a reserved flag", encodeFrame(0x04, new Uint8Array())],
    ["a frame of 64 MiB and one byte", Uint8Array.of(0, 4, 0, 0, 1)],
    ["a compressed frame that is not gzip", encodeFrame(FLAG_COMPRESSED, Buffer.from("no"))],
    ["bytes that are no message", encodeFrame(0, Buffer.from([0x0a, 0xff]))],
    ["a conversation id of dots (ID-11)", encodeFrame(0, runRequest({ conversationId: "..", messageId: "m-1" }))],
    ["an empty conversation id (ID-11)", encodeFrame(0, Buffer.from("0a022a00", "hex"))],
  ])("end the stream with a clean error: %s", async (_, bytes) => {
    const call = harness.peer("h2c").open("POST", RUN, { "content-type": CONNECT, "x-request-id": "req-1" });
    const stream = new Downstream(call, "connect");
    call.up.write(bytes);
    expect(await stream.over()).toMatchObject({ kind: "error", code: "invalid_argument" });
    expect(harness.conversations.log).toEqual([]);
  });

  it("end with a clean error when the client closes its side inside one", async () => {
    const call = harness.peer("h2c").open("POST", RUN, { "content-type": CONNECT, "x-request-id": "req-1" });
    const stream = new Downstream(call, "connect");
    call.up.end(encodeFrame(0, runRequest({ messageId: "m-1" })).subarray(0, 9));
    expect(await stream.over()).toMatchObject({ kind: "error", code: "invalid_argument" });
  });

  it("stop at 64 MiB after decompression", LARGE, async () => {
    const stream = run(harness.peer("h2c"), "req-1");
    await stream.opened();
    stream.call.up.write(encodeFrame(FLAG_COMPRESSED, gzipSync(Buffer.alloc(LIMIT + 1))));
    expect(await stream.over()).toMatchObject({ kind: "error", code: "invalid_argument" });
  });

  it("carry an empty message, which means nothing", async () => {
    const stream = run(harness.peer("h2c"), "req-1");
    stream.send(runRequest({ messageId: "m-1" }));
    stream.send(new Uint8Array());
    stream.send(kvResult(1));
    await until(() => harness.conversations.log.includes("kv req-1#1"));
    expect(harness.events).toEqual([{ type: "input.dropped", conversationId: "conv-1", reason: "unknown message" }]);
  });

  it("may not be compressed in a way that the server does not know", async () => {
    const stream = run(harness.peer("h2c"), "req-1", "connect", { "connect-content-encoding": "br" });
    expect(await stream.over()).toMatchObject({ kind: "error", code: "unimplemented" });
  });
});

describe("bodies of appends (TR-12)", () => {
  const body = appendBody("req-1", 0, runRequest({ messageId: "m-1" }));

  it.each([
    ["gzip", { "content-encoding": "gzip" }, gzipSync(body)],
    ["identity", { "content-encoding": "identity" }, body],
    ["an envelope", {}, encodeFrame(0, body)],
    ["a compressed envelope", {}, encodeFrame(FLAG_COMPRESSED, gzipSync(body))],
  ])("are taken as %s", async (_, headers, bytes) => {
    const reply = await harness
      .peer()
      .send("POST", BIDI_APPEND, { "content-type": "application/proto", ...headers }, bytes);
    expect([reply.status, reply.headers["content-type"], reply.body.byteLength]).toEqual([200, "application/proto", 0]);
    expect(harness.conversations.log).toEqual(["run req-1#1"]);
  });

  it("are answered as a stream when they come as one", async () => {
    const reply = await harness.peer().send("POST", BIDI_APPEND, { "content-type": CONNECT }, encodeFrame(0, body));
    expect(reply.headers["content-type"]).toBe(CONNECT);
    expect(reply.body).toEqual(
      Buffer.concat([encodeFrame(0, new Uint8Array()), encodeFrame(FLAG_END_STREAM, Buffer.from("{}"))]),
    );
    const bad = await harness.peer().send("POST", BIDI_APPEND, { "content-type": CONNECT }, encodeFrame(0x08, body));
    expect(bad.status).toBe(200);
    expect(JSON.parse(bad.body.subarray(5).toString())).toMatchObject({ error: { code: "invalid_argument" } });
  });

  it("are taken as JSON", async () => {
    const json = {
      requestId: { requestId: "req-1" },
      appendSeqno: "0",
      data: Buffer.from(runRequest({ messageId: "m-1" })).toString("hex"),
    };
    const reply = await harness
      .peer()
      .send("POST", BIDI_APPEND, { "content-type": "application/json" }, JSON.stringify(json));
    expect([reply.status, reply.body.toString()]).toEqual([200, "{}"]);
    expect(harness.conversations.log).toEqual(["run req-1#1"]);
  });

  it("are taken raw instead of as hex", async () => {
    const json = {
      requestId: { requestId: "req-1" },
      dataBinary: Buffer.from(runRequest({ messageId: "m-1" })).toString("base64"),
    };
    await harness.peer().send("POST", BIDI_APPEND, { "content-type": "application/json" }, JSON.stringify(json));
    expect(harness.conversations.log).toEqual(["run req-1#1"]);
  });

  it.each([
    ["no request id", appendBody("", 0, runRequest())],
    ["a request id that is none (ID-11)", appendBody("a/b", 0, runRequest())],
    ["a number below 0", appendBody("req-1", -1, runRequest())],
    ["hex that is none", Buffer.from("0a037a7a7a1207 0a05 7265712d31".replaceAll(" ", ""), "hex")],
    ["no protobuf", Buffer.from([0xff])],
  ])("fail with a Connect error in JSON: %s", async (_, bytes) => {
    const reply = await harness.peer().send("POST", BIDI_APPEND, { "content-type": "application/proto" }, bytes);
    expect([reply.status, reply.headers["content-type"]]).toEqual([400, "application/json"]);
    const error = JSON.parse(reply.body.toString()) as { code: string; details: { type: string; value: string }[] };
    expect(error.code).toBe("invalid_argument");
    expect(error.details[0]?.type).toBe("aiserver.v1.ErrorDetails");
    expect(error.details[0]?.value).not.toContain("=");
  });

  it("are bounded, compressed or not, and the connection stays usable", LARGE, async () => {
    await harness.close();
    harness = await startGateway({ limits: { messageBytes: MIB } });
    const peer = harness.peer("h1");
    for (const [headers, bytes] of [
      [{}, Buffer.alloc(2 * MIB + 1025)],
      [{ "content-encoding": "gzip" }, gzipSync(Buffer.alloc(3 * MIB))],
      [{}, appendBody("req-1", 0, new Uint8Array(MIB + 1))],
    ] as const) {
      const reply = await peer.send("POST", BIDI_APPEND, { "content-type": "application/proto", ...headers }, bytes);
      expect([reply.status, JSON.parse(reply.body.toString()).code]).toEqual([400, "invalid_argument"]);
    }
    expect((await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }))).status).toBe(200);
  });
});

describe("the body of RunSSE", () => {
  it("may be compressed, as a frame or as a whole", async () => {
    const id = Buffer.concat([Buffer.from([0x0a, 5]), Buffer.from("req-1")]);
    const peer = harness.peer();
    for (const [headers, bytes] of [
      [{}, encodeFrame(FLAG_COMPRESSED, gzipSync(id))],
      [{ "content-encoding": "gzip" }, gzipSync(encodeFrame(0, id))],
    ] as const) {
      const call = peer.open("POST", RUN_SSE, { "content-type": CONNECT, ...headers });
      call.up.end(bytes);
      await new Downstream(call, "connect").opened();
    }
    await append(peer, "req-1", 0, runRequest({ messageId: "m-1" }));
    await until(() => harness.conversations.attached("req-1#1"));
  });

  it.each([
    ["nothing", new Uint8Array()],
    ["an empty id", encodeFrame(0, new Uint8Array())],
    ["an id that is none (ID-11)", encodeFrame(0, Buffer.from([0x0a, 2, 0x2e, 0x2e]))],
    ["half a frame", Uint8Array.of(0, 0, 0)],
    ["too much", new Uint8Array(70_000)],
  ])("is refused on the stream: %s", async (_, bytes) => {
    const call = harness.peer().open("POST", RUN_SSE, { "content-type": CONNECT });
    call.up.end(bytes);
    const down = new Downstream(call, "connect");
    expect(await down.over()).toMatchObject({ kind: "error", code: "invalid_argument" });
    expect(down.status).toBe(200);
  });
});

it("sends a message of 64 MiB whole", LARGE, async () => {
  const down = runSse(harness.peer("h2c"), "req-1");
  await append(harness.peer(), "req-1", 0, runRequest({ messageId: "m-1" }));
  await until(() => harness.conversations.attached("req-1#1"));
  const text = "x".repeat(LIMIT - 100);
  harness.conversations.downlink("req-1#1").write(encodeUpdate({ kind: "text", text }));
  harness.conversations.end("req-1#1");
  expect(await down.over()).toEqual({ kind: "completed" });
  expect(down.texts[0]?.length).toBe(text.length);
});
