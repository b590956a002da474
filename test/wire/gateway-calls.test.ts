import { gzipSync, gunzipSync } from "node:zlib";
import { createClient, ConnectError } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { agent, aiserver, CallError, serverStream, unary, type Apis } from "@chartroom/gateway/face";
import { decodeDetails, encodeFrame } from "@chartroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BIDI_APPEND, Downstream, RUN, RUN_SSE, runSse } from "../support/gateway/agent-client.ts";
import { BREAKS, type Harness, startGateway } from "../support/gateway/harness.ts";
import { PEER_KINDS } from "../support/gateway/peer.ts";
import { until } from "../support/gateway/until.ts";

const NAME = "/agent.v1.AgentService/NameAgent";
const apis: Apis = {
  rpcs: [
    unary(agent.AgentService.method.nameAgent, ({ userMessage }, { principal, header }) => {
      if (userMessage === "fail")
        throw new CallError({
          code: "MODEL_NOT_FOUND",
          title: "Unknown model",
          detail: "It is not configured.",
          retryable: false,
        });
      if (userMessage === "break") throw new Error("an inner detail");
      return { name: `${principal.member}: ${userMessage}${header("x-note") ?? ""}` };
    }),
    serverStream(aiserver.HealthService.method.streamSSE, async function* ({ payload }) {
      yield { payload: `${payload} 1` };
      if (payload === "fail") throw new CallError({ code: "NOT_FOUND", title: "Gone", detail: "", retryable: false });
      yield { payload: `${payload} 2` };
    }),
  ],
  rest: (app) => {
    app.get("/whoami", (c) => c.json({ member: c.env.principal.member }));
    app.post("/echo", async (c) => c.text(await c.req.text()));
    app.get("/broken", () => {
      throw new Error("an inner detail");
    });
    app.get("/events", () => {
      const stream = new ReadableStream({
        start(controller) {
          for (let count = 0; count < 3; count += 1) controller.enqueue(Buffer.from(`data: ${count}\n\n`));
          controller.close();
        },
      });
      const headers = { "content-type": "text/event-stream", connection: "keep-alive", "transfer-encoding": "chunked" };
      return new Response(stream, { headers });
    });
  },
};

let harness: Harness;
beforeEach(async () => {
  harness = await startGateway({ apis: [apis] });
});
afterEach(() => harness.close());

const json = { "content-type": "application/json" };

describe("unary calls", () => {
  it.each(PEER_KINDS)("are served in JSON over %s", async (kind) => {
    const reply = await harness.peer(kind).send("POST", NAME, { ...json, "x-note": "!" }, `{"userMessage":"hello"}`);
    expect([reply.status, JSON.parse(reply.body.toString())]).toEqual([200, { name: "ann: hello!" }]);
  });

  it("are served in protobuf, compressed or not", async () => {
    const body = Buffer.from([0x0a, 5, ...Buffer.from("hello")]);
    const want = Buffer.from([0x0a, 10, ...Buffer.from("ann: hello")]);
    const peer = harness.peer();
    const plain = await peer.send("POST", NAME, { "content-type": "application/proto" }, body);
    expect([plain.headers["content-type"], plain.body]).toEqual(["application/proto", want]);
    const zipped = await peer.send(
      "POST",
      NAME,
      { "content-type": "application/proto", "content-encoding": "gzip" },
      gzipSync(body),
    );
    expect(zipped.body).toEqual(want);
    const long = Buffer.from(`{"userMessage":"${"x".repeat(5000)}"}`);
    const answer = await peer.send("POST", NAME, { ...json, "accept-encoding": "gzip" }, long);
    expect(answer.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(answer.body).toString()).toContain("xxxx");
  });

  it.each([
    ["Connect over HTTP/1.1", () => createConnectTransport({ baseUrl: base(), httpVersion: "1.1" })],
    ["Connect over HTTP/2", () => createConnectTransport({ baseUrl: base(), httpVersion: "2" })],
    ["gRPC-Web", () => createGrpcWebTransport({ baseUrl: base(), httpVersion: "1.1" })],
    ["gRPC", () => createGrpcTransport({ baseUrl: base() })],
  ])("are served to a client of %s, and so are small streams and their errors", async (_, transport) => {
    const headers = { authorization: "Bearer token-ann" };
    const client = createClient(agent.AgentService, transport());
    expect((await client.nameAgent({ userMessage: "hi" }, { headers })).name).toBe("ann: hi");
    const error = await client.nameAgent({ userMessage: "fail" }, { headers }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectError);
    expect((error as ConnectError).findDetails(aiserver.ErrorDetailsSchema)[0]?.details?.detail).toBe(
      "It is not configured.",
    );
    const health = createClient(aiserver.HealthService, transport());
    const got: string[] = [];
    for await (const { payload } of health.streamSSE({ payload: "ping" }, { headers })) got.push(payload);
    expect(got).toEqual(["ping 1", "ping 2"]);
    const broken = (async () => {
      for await (const { payload } of health.streamSSE({ payload: "fail" }, { headers })) got.push(payload);
    })();
    await expect(broken).rejects.toThrow("Gone");
    expect(got.at(-1)).toBe("fail 1");
  });

  it("fail with a status, a code and ErrorDetails, and tell nothing of the inside", async () => {
    const peer = harness.peer();
    const failed = await peer.send("POST", NAME, json, `{"userMessage":"fail"}`);
    const error = JSON.parse(failed.body.toString()) as {
      code: string;
      message: string;
      details: { type: string; value: string }[];
    };
    expect([failed.status, error.code, error.message]).toEqual([404, "not_found", "Unknown model"]);
    expect(error.details[0]?.type).toBe("aiserver.v1.ErrorDetails");
    expect(decodeDetails(error.details[0]?.value)).toMatchObject({
      details: { title: "Unknown model", detail: "It is not configured." },
    });
    const broken = await peer.send("POST", NAME, json, `{"userMessage":"break"}`);
    expect([broken.status, broken.body.toString()]).toEqual([500, expect.not.stringContaining("inner")]);
    expect(harness.reports).toEqual([new Error("an inner detail")]);
    expect((await peer.send("POST", NAME, json, "{")).status).toBe(400);
    expect((await peer.send("POST", NAME, { "content-type": "text/plain" }, "x")).status).toBe(415);
  });
});

describe("a call that is not served (TR-17)", () => {
  it("gets unimplemented with a reason, and is told of once per path", async () => {
    const peer = harness.peer();
    for (const path of ["/aiserver.v1.AiService/QuickEdit", "/aiserver.v1.AiService/QuickEdit", "/other.v9.Thing/Do"]) {
      const reply = await peer.send("POST", path, { "content-type": "application/proto" }, "body");
      expect([reply.status, JSON.parse(reply.body.toString())]).toEqual([
        501,
        expect.objectContaining({ code: "unimplemented", message: "Not supported" }),
      ]);
    }
    expect(harness.events).toEqual([
      { type: "rpc.unserved", path: "/aiserver.v1.AiService/QuickEdit" },
      { type: "rpc.unserved", path: "/other.v9.Thing/Do" },
    ]);
  });

  it.each(["connect", "grpcWeb"] as const)("gets it in the form of its stream: %s", async (dialect) => {
    const type = dialect === "connect" ? "application/connect+proto" : "application/grpc-web+proto";
    const call = harness.peer("h2c").open("POST", "/agent.v1.AgentService/RunPoll", { "content-type": type });
    call.up.end(encodeFrame(0, new Uint8Array()));
    const down = new Downstream(call, dialect);
    expect(await down.over()).toMatchObject({ kind: "error", code: "unimplemented" });
    expect(down.status).toBe(200);
  });
});

it.each([
  ["not served", "/aiserver.v1.AiService/StreamStt", "token-ann", "unimplemented"],
  ["of a stranger", RUN, "wrong", "unauthenticated"],
])("a stream %s is answered and closed though its client keeps its side open", async (_, path, token, code) => {
  const call = harness.peer("h2c", token).open("POST", path, { "content-type": "application/connect+proto" });
  let closed = false;
  call.up.once("close", () => (closed = true));
  call.up.write(encodeFrame(0, new Uint8Array()));
  const down = new Downstream(call, "connect");
  expect(await down.over()).toMatchObject({ kind: "error", code });
  await until(() => closed);
});

describe("authentication", () => {
  it.each([
    [NAME, json],
    [BIDI_APPEND, { "content-type": "application/proto" }],
    [BIDI_APPEND, json],
    ["/nowhere.v1.At/All", json],
    ["/whoami", {}],
    ["/nothing-there", {}],
  ] as const)("is asked for %s: status 401, a body that a client understands", async (path, headers) => {
    for (const token of ["", "wrong"]) {
      const reply = await harness.peer("h1", token).send("POST", path, headers, "{}");
      expect([reply.status, JSON.parse(reply.body.toString())]).toEqual([
        401,
        expect.objectContaining({ code: "unauthenticated" }),
      ]);
    }
    expect(harness.events).toEqual([]);
  });

  it.each([RUN, RUN_SSE])("is asked for %s: status 200, the error on the stream", async (path) => {
    const peer = harness.peer("h2c", "wrong");
    const call = peer.open("POST", path, { "content-type": "application/connect+proto" });
    call.up.end(encodeFrame(0, Buffer.from([0x0a, 1, 0x61])));
    const down = new Downstream(call, "connect");
    expect(await down.over()).toMatchObject({ kind: "error", code: "unauthenticated" });
    expect([down.status, down.heartbeats]).toEqual([200, 0]);
  });

  it("is not asked for /healthz, but for /readyz", async () => {
    const stranger = harness.peer("h1", "");
    expect((await stranger.send("GET", "/healthz")).status).toBe(200);
    expect((await stranger.send("GET", "/readyz")).status).toBe(401);
  });

  it("keeps members apart: another member's stream is not there", async () => {
    const ann = runSse(harness.peer("h1", "token-ann"), "req-1");
    const bob = runSse(harness.peer("h1", "token-bob"), "req-1");
    await Promise.all([ann.opened(), bob.opened()]);
    expect([ann.closed, bob.closed]).toEqual([false, false]);
  });
});

describe("REST", () => {
  it.each(PEER_KINDS)("routes know the caller, over %s", async (kind) => {
    const peer = harness.peer(kind, "token-bob");
    expect(JSON.parse((await peer.send("GET", "/whoami")).body.toString())).toEqual({ member: "bob" });
    expect((await peer.send("POST", "/echo", {}, "text")).body.toString()).toBe("text");
    expect((await peer.send("GET", "/nothing")).status).toBe(404);
    const broken = await peer.send("GET", "/broken");
    expect([broken.status, broken.body.toString()]).toEqual([500, expect.not.stringContaining("inner")]);
  });

  it.each(PEER_KINDS)(
    "a stream of events that sets headers of one hop does not end the process, over %s",
    async (kind) => {
      const reply = await harness.peer(kind).send("GET", "/events");
      expect(reply.status).toBe(200);
      expect(reply.body.toString()).toContain("data: 2");
    },
  );

  it("/readyz says what the injected check says", async () => {
    await harness.close();
    harness = await startGateway({ readiness: () => ({ ready: false, checks: { store: "unavailable" } }) });
    const reply = await harness.peer().send("GET", "/readyz");
    expect([reply.status, JSON.parse(reply.body.toString())]).toEqual([
      503,
      { ready: false, checks: { store: "unavailable" } },
    ]);
  });
});

function base(): string {
  return `http://127.0.0.1:${harness.port}`;
}

describe("a fault of who calls", () => {
  const calls = [NAME, BIDI_APPEND, RUN_SSE, "/whoami"];
  it.each(PEER_KINDS.flatMap((kind) => calls.map((path) => [kind, path] as const)))(
    "over %s to %s is reported, and the caller is told nothing of it",
    async (kind, path) => {
      const type = path === RUN_SSE ? "application/connect+proto" : "application/json";
      const reply = await harness.peer(kind, BREAKS).send("POST", path, { "content-type": type }, "{}");
      expect(reply.status).toBe(500);
      expect(reply.body.toString()).not.toContain("inner");
      expect(harness.reports.map(String)).toEqual(["Error: an inner detail"]);
    },
  );
});
