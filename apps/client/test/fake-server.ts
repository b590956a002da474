import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Failure } from "@chartroom/domain";
import {
  decodeAppend,
  decodeRequestId,
  encodeFrame,
  endStreamFrame,
  FrameReader,
  connectError,
  httpStatus,
  connectCode,
  trailersFrame,
} from "@chartroom/protocol";
import {
  type AgentClientMessage,
  AgentClientMessageSchema,
  AgentServerMessageSchema,
  GetDefaultModelForCliResponseSchema,
  GetUsableModelsResponseSchema,
  type InteractionUpdateSchema,
} from "@chartroom/protocols/agent";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";

type Request = http.IncomingMessage | http2.Http2ServerRequest;
/** What both kinds of response have in common. */
interface Response {
  readonly socket: { destroy(): void } | null;
  readonly stream?: http2.ServerHttp2Stream;
  writeHead(status: number, headers?: Record<string, string>): unknown;
  flushHeaders?(): void;
  write(bytes: Uint8Array): unknown;
  end(bytes?: Uint8Array | string): unknown;
  on(event: "error", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
}
interface Stream {
  run: FakeRun | undefined;
  next: number;
  readonly held: Map<number, AgentClientMessage>;
}
type ServerMessage = Extract<MessageInitShape<typeof AgentServerMessageSchema>, { message?: unknown }>["message"];
type Update = Extract<MessageInitShape<typeof InteractionUpdateSchema>, { message?: unknown }>["message"];
type ClientCase = NonNullable<AgentClientMessage["message"]["case"]>;

type Server = http.Server | http2.Http2Server | http2.Http2SecureServer;

/** What a script does with one run stream. */
export type Script = (run: FakeRun) => Promise<void> | void;

const tls = (name: string) => readFileSync(new URL(`tls/${name}`, import.meta.url), "utf8");
export const CERTIFICATE = tls("cert.pem");

/** One run stream of a client, over either transport. */
export class FakeRun {
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly requestId: string;
  readonly transport: "h1" | "h2";
  /** Everything that came, heartbeats too. */
  readonly received: AgentClientMessage[] = [];
  /** Resolves when the client has left or the stream is over. */
  readonly gone: Promise<void>;
  readonly #response: Response;
  readonly #grpcWeb: boolean;
  #unread: AgentClientMessage[] = [];
  #waiting: (() => void)[] = [];

  constructor(request: Request, response: Response, requestId: string, transport: "h1" | "h2") {
    this.headers = request.headers;
    this.requestId = requestId;
    this.transport = transport;
    this.#response = response;
    this.#grpcWeb = isGrpcWeb(request);
    this.gone = new Promise((resolve) => response.once("close", () => resolve()));
  }

  take(message: AgentClientMessage): void {
    this.received.push(message);
    if (message.message.case !== "clientHeartbeat") this.#unread.push(message);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** The next message of a case; those before it are passed over. */
  async next<C extends ClientCase>(wanted: C): Promise<Extract<AgentClientMessage["message"], { case: C }>["value"]> {
    for (;;) {
      const message = this.#unread.shift();
      if (message === undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else if (message.message.case === wanted) {
        return message.message.value as never;
      }
    }
  }

  /** The messages of one exec up to its close or throw. */
  async exec(
    id: number,
    message: Extract<ServerMessage, { case: "execServerMessage" }>["value"],
  ): Promise<AgentClientMessage[]> {
    this.send({ case: "execServerMessage", value: { ...message, id } as never });
    const mine: AgentClientMessage[] = [];
    for (;;) {
      const next = this.#unread.shift();
      if (next === undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else {
        mine.push(next);
        if (next.message.case === "execClientControlMessage" && next.message.value.message.case !== "heartbeat")
          return mine;
      }
    }
  }

  /** Waits until the client has taken everything that was sent so far: it answers a question in its turn. */
  async seen(): Promise<void> {
    const value = { id: 9999, message: { case: "getBlobArgs" as const, value: { blobId: new Uint8Array(32) } } };
    this.send({ case: "kvServerMessage", value });
    await this.next("kvClientMessage");
  }

  /** Waits for a number of heartbeats of the client. */
  async heartbeats(count: number): Promise<void> {
    const beats = () => this.received.filter(({ message }) => message.case === "clientHeartbeat").length;
    while (beats() < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  send(message: ServerMessage): void {
    const bytes = toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, { message } as never));
    this.#response.write(encodeFrame(0, bytes));
  }

  update(message: Update): void {
    this.send({ case: "interactionUpdate", value: { message } as never });
  }

  text(text: string): void {
    this.update({ case: "textDelta", value: { text } });
  }

  turnEnded(): void {
    this.update({ case: "turnEnded", value: { inputTokens: 100n, outputTokens: 20n } });
  }

  end(failure?: Failure): void {
    const terminal = failure === undefined ? ({ kind: "completed" } as const) : ({ kind: "error", failure } as const);
    this.raw(this.#grpcWeb ? trailersFrame(terminal) : endStreamFrame(terminal));
    this.#response.end();
  }

  /** Writes bytes as they are. */
  raw(bytes: Uint8Array): void {
    this.#response.write(bytes);
  }

  /** Ends the response without an end-of-stream frame. */
  cut(): void {
    this.#response.end();
  }

  /** Breaks the connection. */
  drop(): void {
    const { stream, socket } = this.#response;
    if (stream === undefined) socket?.destroy();
    else stream.session?.destroy();
  }
}

/** A server that plays a script, HTTP/1.1 and HTTP/2, cleartext or TLS, Connect or gRPC-Web. */
export class FakeServer {
  /** By transport. */
  readonly url: { readonly h1: string; readonly h2: string };
  readonly runs: FakeRun[] = [];
  /** Paths in the order in which they were asked for. */
  readonly calls: string[] = [];
  readonly problems: string[] = [];
  script: Script;
  models = [{ modelId: "demo", displayName: "Demo" }];
  /** Answers every request with this failure. */
  refuse: Failure | undefined;
  readonly #servers: Server[];
  readonly #streams = new Map<string, Stream>();
  readonly #sockets = new Set<{ destroy(): void }>();
  #waiting: (() => void)[] = [];

  private constructor(script: Script, servers: Server[], url: FakeServer["url"]) {
    this.script = script;
    this.#servers = servers;
    this.url = url;
  }

  static async start(script: Script, options: { readonly tls?: boolean } = {}): Promise<FakeServer> {
    const handlers: { handle?: (request: Request, response: Response) => void } = {};
    const handler = (request: Request, response: unknown) => handlers.handle?.(request, response as Response);
    const secure = { key: options.tls ? tls("key.pem") : "", cert: CERTIFICATE, allowHTTP1: true };
    const servers = options.tls
      ? [http2.createSecureServer(secure, handler)]
      : [http.createServer(handler), http2.createServer(handler)];
    const ports = await Promise.all(
      servers.map(
        (server) =>
          new Promise<number>((resolve) => {
            server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
          }),
      ),
    );
    const scheme = options.tls ? "https" : "http";
    const [first = 0, second = first] = ports;
    const url = { h1: `${scheme}://127.0.0.1:${first}`, h2: `${scheme}://127.0.0.1:${second}` };
    const fake = new FakeServer(script, servers, url);
    for (const server of servers) {
      server.on("connection", (socket: { destroy(): void }) => fake.#sockets.add(socket));
      server.on("session", (session: http2.ServerHttp2Session) => fake.#sockets.add(session));
    }
    handlers.handle = (request, response) => void fake.#handle(request, response);
    return fake;
  }

  /** The run of that number, from 0, when it is there. */
  async run(number: number): Promise<FakeRun> {
    for (;;) {
      const run = this.runs[number];
      if (run !== undefined) return run;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
    if (this.problems.length > 0) throw new Error(this.problems.join("\n"));
  }

  async #handle(request: Request, response: Response): Promise<void> {
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    const path = request.url ?? "";
    this.calls.push(path);
    if (this.refuse !== undefined) {
      request.resume();
      response.writeHead(httpStatus(connectCode(this.refuse.code)), { "content-type": "application/json" });
      response.end(JSON.stringify(connectError(this.refuse)));
    } else if (path === "/agent.v1.AgentService/Run") this.#runH2(request, response);
    else if (path === "/agent.v1.AgentService/RunSSE") await this.#runSse(request, response);
    else if (path === "/aiserver.v1.BidiService/BidiAppend") await this.#append(request, response);
    else if (path.endsWith("/GetUsableModels")) {
      const models = create(GetUsableModelsResponseSchema, { models: this.models });
      await this.#unary(request, response, toBinary(GetUsableModelsResponseSchema, models));
    } else if (path.endsWith("/GetDefaultModelForCli")) {
      const answer = create(GetDefaultModelForCliResponseSchema, { model: this.models[0] ?? {} });
      await this.#unary(request, response, toBinary(GetDefaultModelForCliResponseSchema, answer));
    } else {
      response.writeHead(404);
      response.end();
    }
  }

  #runH2(request: Request, response: Response): void {
    const run = new FakeRun(request, response, request.headers["x-request-id"]?.toString() ?? "", "h2");
    const reader = new FrameReader("request");
    this.#open(run, request, response);
    request.on("data", (chunk: Uint8Array) => {
      const frames = reader.push(chunk);
      if (!frames.ok) this.problems.push(`bad frame: ${JSON.stringify(frames.error)}`);
      else for (const frame of frames.value) run.take(fromBinary(AgentClientMessageSchema, frame.payload));
    });
  }

  async #runSse(request: Request, response: Response): Promise<void> {
    const frames = new FrameReader("request").push(await bodyOf(request));
    const id = frames.ok && frames.value[0] ? decodeRequestId(frames.value[0].payload) : undefined;
    if (!id?.ok || id.value !== request.headers["x-request-id"]) this.problems.push("RunSSE: bad request id");
    const requestId = request.headers["x-request-id"]?.toString() ?? "";
    const run = new FakeRun(request, response, requestId, "h1");
    this.#open(run, request, response);
    const stream = this.#stream(requestId);
    stream.run = run;
    this.#deliver(stream);
  }

  async #append(request: Request, response: Response): Promise<void> {
    let body: Uint8Array = await bodyOf(request);
    if (isGrpcWeb(request)) {
      const frames = new FrameReader("request").push(body);
      body = frames.ok ? (frames.value[0]?.payload ?? body) : body;
    }
    const append = decodeAppend(body);
    if (!append.ok) {
      this.problems.push(`bad append: ${JSON.stringify(append.error)}`);
      return;
    }
    const stream = this.#stream(append.value.requestId);
    stream.held.set(append.value.seqno, fromBinary(AgentClientMessageSchema, append.value.message));
    this.#deliver(stream);
    await this.#unary(request, response, new Uint8Array());
  }

  async #unary(request: Request, response: Response, message: Uint8Array): Promise<void> {
    if (!request.readableEnded) await bodyOf(request);
    const grpcWeb = isGrpcWeb(request);
    response.writeHead(200, { "content-type": grpcWeb ? "application/grpc-web+proto" : "application/proto" });
    if (grpcWeb) response.write(encodeFrame(0, message));
    response.end(grpcWeb ? trailersFrame({ kind: "completed" }) : message);
  }

  #stream(requestId: string): Stream {
    const known = this.#streams.get(requestId) ?? { run: undefined, next: 0, held: new Map() };
    this.#streams.set(requestId, known);
    return known;
  }

  #deliver(stream: Stream): void {
    if (stream.run === undefined) return;
    for (let message = stream.held.get(stream.next); message !== undefined; message = stream.held.get(stream.next)) {
      stream.held.delete(stream.next);
      stream.next += 1;
      stream.run.take(message);
    }
  }

  #open(run: FakeRun, request: Request, response: Response): void {
    response.writeHead(200, {
      "content-type": isGrpcWeb(request) ? "application/grpc-web+proto" : "application/connect+proto",
    });
    response.flushHeaders?.();
    this.runs.push(run);
    for (const wake of this.#waiting.splice(0)) wake();
    void Promise.resolve(this.script(run)).catch((error: unknown) => this.problems.push(String(error)));
  }
}

function isGrpcWeb(request: Request): boolean {
  return request.headers["content-type"]?.startsWith("application/grpc-web") ?? false;
}

async function bodyOf(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}
