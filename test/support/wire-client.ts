import { createHash } from "node:crypto";
import {
  type agent,
  agent as wire,
  type Decoded,
  decodeEndStream,
  decodeTrailers,
  create,
  FLAG_END_STREAM,
  FLAG_TRAILERS,
  fromBinary,
  FrameReader,
  type MessageInitShape,
  type StreamEnd,
  toBinary,
} from "@chartroom/protocol";
import {
  appendBody,
  BIDI_APPEND,
  RUN,
  RUN_SSE,
  type ServerMessage,
  type StreamDialect,
} from "./gateway/agent-client.ts";
import { aiserver, encodeFrame } from "@chartroom/protocol";
import { type OpenCall, type Peer, peerOf, type Reply } from "./gateway/peer.ts";
import { until } from "./gateway/until.ts";

/** `run`: both directions on one HTTP/2 stream. `sse`: RunSSE down, BidiAppend up, over HTTP/1.1. */
export type WireTransport = "run" | "sse";
export const WIRE_TRANSPORTS: readonly WireTransport[] = ["run", "sse"];

export type ClientInit = MessageInitShape<typeof agent.AgentClientMessageSchema>;
type ClientBody = NonNullable<ClientInit["message"]>;
export type ExecRequest = Extract<ServerMessage["message"], { case: "execServerMessage" }>["value"];
export type ExecAnswer = NonNullable<MessageInitShape<typeof agent.ExecClientMessageSchema>["message"]>;
export type Headers = Readonly<Record<string, string>>;

export interface WireClientOptions {
  readonly transport: WireTransport;
  readonly dialect?: StreamDialect;
  readonly token?: string;
}

let counter = 0;
/** An id that no other test of this process has. */
export function unique(name: string): string {
  return `${name}-${process.pid}-${(counter++).toString().padStart(4, "0")}`;
}

/**
 * A client of one conversation over sockets: keeps the blobs that the server writes, acknowledges them, keeps the newest
 * checkpoint, and answers execs as a test says. Its streams may be opened, left, lost and opened again in any order.
 */
export class WireClient {
  readonly transport: WireTransport;
  readonly dialect: StreamDialect;
  readonly peer: Peer;
  conversationId = unique("conversation");
  readonly blobs = new Map<string, Uint8Array>();
  /** The newest checkpoint, serialized; empty for a new chat. */
  state: Uint8Array = new Uint8Array();
  /** Acknowledges blobs. What comes while it is off is kept in the stream's `unacknowledged`. */
  acknowledges = true;
  /** Answers what it is asked for from its blobs. */
  gives = true;
  /** Answers an exec; `undefined` leaves it open. */
  onExec: (exec: ExecRequest) => ExecAnswer | undefined = () => undefined;

  constructor(port: number, { transport, dialect = "connect", token = "" }: WireClientOptions) {
    this.transport = transport;
    this.dialect = dialect;
    this.peer = peerOf(transport === "run" ? "h2c" : "h1", port, "", token);
  }

  /** A stream of a new request id, or of one that was used before; opens its downlink at once unless told otherwise. */
  stream(
    options: { readonly requestId?: string; readonly headers?: Headers; readonly downlink?: boolean } = {},
  ): WireStream {
    const stream = new WireStream(this, options.requestId ?? unique("request"), options.headers ?? {});
    if (options.downlink !== false) stream.open();
    return stream;
  }

  /** Another client of the same conversation, with what this one holds: the next process of the same person. */
  twin(port: number, options: Partial<WireClientOptions> = {}): WireClient {
    const { transport, dialect } = this;
    const twin = new WireClient(port, { transport, dialect, ...options });
    twin.conversationId = this.conversationId;
    twin.state = this.state;
    for (const [id, data] of this.blobs) twin.blobs.set(id, data);
    return twin;
  }

  runRequest(
    text: string,
    more: {
      readonly messageId?: string;
      readonly runId?: string;
      readonly resume?: boolean;
      readonly state?: Uint8Array;
      readonly mcpTools?: MessageInitShape<typeof agent.McpToolsSchema>;
      /** Blobs that are sent ahead. */
      readonly prefetched?: readonly Uint8Array[];
    } = {},
  ): ClientInit {
    const state = more.state ?? this.state;
    const action: MessageInitShape<typeof agent.ConversationActionSchema>["action"] = more.resume
      ? { case: "resumeAction", value: { requestContext: CONTEXT } }
      : {
          case: "userMessageAction",
          value: {
            userMessage: { text, messageId: more.messageId ?? unique("message"), mode: wire.AgentMode.AGENT },
            requestContext: CONTEXT,
          },
        };
    return {
      message: {
        case: "runRequest",
        value: {
          conversationId: this.conversationId,
          action: { action },
          mcpTools: more.mcpTools ?? {},
          requestedModel: { modelId: "demo-model" },
          conversationState: fromBinary(wire.ConversationStateStructureSchema, state),
          preFetchedBlobs: (more.prefetched ?? []).map((value) => ({
            id: createHash("sha256").update(value).digest(),
            value,
          })),
          ...(more.runId === undefined ? {} : { runId: more.runId }),
        },
      },
    };
  }

  /** A Run request with an action of the test's own. */
  action(
    action: NonNullable<MessageInitShape<typeof agent.ConversationActionSchema>["action"]>,
    more: { readonly runId?: string; readonly state?: Uint8Array } = {},
  ): ClientInit {
    const request = this.runRequest("", more);
    if (request.message?.case === "runRequest") Object.assign(request.message.value, { action: { action } });
    return request;
  }

  close(): void {
    this.peer.close();
  }
}

const CONTEXT = {
  env: {
    osVersion: "linux 6.1",
    workspacePaths: ["/ws/demo"],
    shell: "/bin/bash",
    timeZone: "UTC",
    projectFolder: "/ws/demo",
  },
};

const CONTENT_TYPE: Readonly<Record<StreamDialect, string>> = {
  connect: "application/connect+proto",
  grpcWeb: "application/grpc-web+proto",
};

/** One request id of a client: its downlinks, one after the other, and its uplink. */
export class WireStream {
  readonly client: WireClient;
  readonly requestId: string;
  readonly headers: Headers;
  /** What the newest downlink brought. */
  down: Reception;
  /** Number of the next append. */
  seqno = 0;

  constructor(client: WireClient, requestId: string, headers: Headers) {
    this.client = client;
    this.requestId = requestId;
    this.headers = headers;
    this.down = new Reception(this, undefined);
  }

  /** Opens a downlink; a second one goes beside the first until the server closes that. */
  open(): Reception {
    const { client, requestId } = this;
    const call = client.peer.open("POST", client.transport === "run" ? RUN : RUN_SSE, {
      "content-type": CONTENT_TYPE[client.dialect],
      "connect-protocol-version": "1",
      "x-request-id": requestId,
      ...this.headers,
    });
    if (client.transport === "sse")
      call.up.end(
        encodeFrame(0, toBinary(aiserver.BidiRequestIdSchema, create(aiserver.BidiRequestIdSchema, { requestId }))),
      );
    else call.up.on("error", () => undefined);
    this.down = new Reception(this, call);
    this.down.read(call, client.dialect);
    return this.down;
  }

  /** Opens a downlink again for the same request id; over HTTP/2 that takes the Run request, which goes up with it. */
  async reopen(request: ClientInit): Promise<Reception> {
    const down = this.open();
    if (this.client.transport === "run") await this.send(request);
    return down;
  }

  /**
   * Sends a message in its turn, or as the append of a given number (which moves nothing on). Resolves with the answer of
   * an append; a stream has none. An append that fails rejects unless `mayFail`. `over`: the downlink whose call a message
   * goes up on, where both are one.
   */
  async send(
    message: ClientInit | Uint8Array,
    options: { readonly seqno?: number; readonly mayFail?: boolean; readonly over?: Reception } = {},
  ): Promise<Reply | undefined> {
    const bytes =
      message instanceof Uint8Array
        ? message
        : toBinary(wire.AgentClientMessageSchema, create(wire.AgentClientMessageSchema, message));
    if (this.client.transport === "run") {
      const up = (options.over ?? this.down).call?.up;
      if (up?.writable === true) up.write(encodeFrame(0, bytes));
      return undefined;
    }
    const reply = await this.client.peer.send(
      "POST",
      BIDI_APPEND,
      { "content-type": "application/proto", "x-request-id": this.requestId, ...this.headers },
      appendBody(this.requestId, options.seqno ?? this.seqno++, bytes),
    );
    if (reply.status !== 200 && options.mayFail !== true)
      throw new Error(`the append was answered ${reply.status}: ${reply.body.toString()}`);
    return reply;
  }

  /** The connection of the newest downlink breaks: nothing is said to the server. */
  lose(): void {
    this.down.call?.abort();
  }

  // -- what most tests say

  action(
    action: NonNullable<MessageInitShape<typeof agent.ConversationActionSchema>["action"]>,
  ): Promise<Reply | undefined> {
    return this.send({ message: { case: "conversationAction", value: { action } } });
  }
  cancel(): Promise<Reply | undefined> {
    return this.action({ case: "cancelAction", value: { reason: "user" } });
  }
  say(text: string, messageId = unique("message")): Promise<Reply | undefined> {
    return this.action({
      case: "userMessageAction",
      value: { userMessage: { text, messageId, mode: wire.AgentMode.AGENT } },
    });
  }
  inject(injectionId: string, expectedRunId: string, text: string): Promise<Reply | undefined> {
    return this.action({
      case: "injectContextAction",
      value: {
        injectionId,
        expectedRunId,
        payload: {
          case: "userContext",
          value: { userMessage: { text, messageId: `m-${injectionId}`, mode: wire.AgentMode.AGENT } },
        },
      },
    });
  }
  answer(exec: Pick<ExecRequest, "id" | "execId">, message: ExecAnswer, over = this.down): Promise<Reply | undefined> {
    const body: ClientBody = { case: "execClientMessage", value: { id: exec.id, execId: exec.execId, message } };
    return this.send({ message: body }, { over });
  }
  /** Acknowledges the blobs that came while the client did not. */
  async acknowledge(): Promise<void> {
    for (const id of this.down.unacknowledged.splice(0)) await this.send(setBlobResult(id));
  }

  /** Takes what comes by itself: blobs, checkpoints, execs that the test answers. */
  take(message: ServerMessage["message"], reception: Reception): void {
    const { client } = this;
    if (message.case === "conversationCheckpointUpdate")
      client.state = toBinary(wire.ConversationStateStructureSchema, message.value);
    if (message.case === "execServerMessage") {
      const answer = client.onExec(message.value);
      if (answer !== undefined) void this.answer(message.value, answer, reception).catch(() => undefined);
    }
    if (message.case !== "kvServerMessage") return;
    const { id, message: kv } = message.value;
    if (kv.case === "setBlobArgs") {
      client.blobs.set(hex(kv.value.blobId), kv.value.blobData);
      if (!client.acknowledges) reception.unacknowledged.push(id);
      else void this.send(setBlobResult(id), { over: reception }).catch(() => undefined);
    } else if (kv.case === "getBlobArgs" && client.gives) {
      const data = client.blobs.get(hex(kv.value.blobId));
      const value = data === undefined ? {} : { blobData: data };
      void this.send(
        { message: { case: "kvClientMessage", value: { id, message: { case: "getBlobResult", value } } } },
        { over: reception },
      ).catch(() => undefined);
    }
  }
}

/** Comes back as a client does: twice a second for half a minute, while the server says that it is not there yet. */
export async function comeBack(back: WireClient, request: ClientInit, original: string): Promise<WireStream> {
  for (let tries = 0; ; tries++) {
    const stream = back.stream({ headers: { "x-original-request-id": original } });
    await stream.send(request, { mayFail: true });
    await stream.down.over(30_000);
    const { end } = stream.down;
    // a stream that broke off is tried again as well
    const again = end === undefined || (end.kind === "error" && end.code === "unavailable");
    if (!again || tries === 60) return stream;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function setBlobResult(id: number): ClientInit {
  return { message: { case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } } };
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** What one downlink brought, from its headers to its end. */
export class Reception {
  readonly messages: ServerMessage[] = [];
  /** Ids of blob writes that were not acknowledged. */
  readonly unacknowledged: number[] = [];
  /** Ends that were read; a stream that keeps to the protocol has one at most. */
  readonly ends: StreamEnd[] = [];
  /** The last frame that was read, as it came. */
  last: { readonly flags: number; readonly payload: Uint8Array } | undefined;
  /** Messages that came after an end. */
  late = 0;
  closed = false;
  headers: Headers = {};
  bytes = 0;
  readonly #stream: WireStream;
  #paused: PromiseWithResolvers<void> | undefined;

  /** The call that it came on; over HTTP/2 also the way up. */
  readonly call: OpenCall | undefined;

  constructor(stream: WireStream, call: OpenCall | undefined) {
    this.#stream = stream;
    this.call = call;
  }

  get kinds(): readonly string[] {
    return this.messages.map(kindOf);
  }
  get text(): string {
    return this.messages.map(textOf).join("");
  }
  get end(): StreamEnd | undefined {
    return this.ends[0];
  }
  get execs(): readonly ExecRequest[] {
    return this.messages.flatMap(({ message }) => (message.case === "execServerMessage" ? [message.value] : []));
  }

  until(test: () => boolean, what: string, limitMs = 15_000): Promise<void> {
    return until(test, what, limitMs);
  }
  sees(kind: string, times = 1): Promise<void> {
    return this.until(
      () => this.kinds.filter((each) => each === kind).length >= times,
      `${kind} (seen: ${this.kinds.join(" ")})`,
    );
  }
  says(text: string): Promise<void> {
    return this.until(() => this.text.includes(text), `the text ${text}`);
  }
  /** Waits for the end of the bytes; gives how the stream ended, `undefined` when it broke off. */
  async over(limitMs?: number): Promise<StreamEnd | undefined> {
    await this.until(() => this.closed, "the end of the stream", limitMs);
    return this.end;
  }

  /** Reads nothing more until `resume`: what the server writes backs up to it. */
  pause(): void {
    this.#paused ??= Promise.withResolvers();
  }
  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  read(call: OpenCall, dialect: StreamDialect): void {
    void this.#read(call, dialect)
      // a connection that broke says nothing more
      .catch(() => undefined)
      .finally(() => (this.closed = true));
  }

  async #read(call: OpenCall, dialect: StreamDialect): Promise<void> {
    const { headers, down } = await call.head;
    this.headers = headers;
    const reader = new FrameReader(dialect);
    for await (const chunk of down) {
      this.bytes += (chunk as Buffer).byteLength;
      for (const { flags, payload } of must(reader.push(chunk as Buffer))) {
        this.last = { flags, payload };
        if (flags === FLAG_END_STREAM) this.ends.push(must(decodeEndStream(payload)));
        else if (flags === FLAG_TRAILERS) this.ends.push(must(decodeTrailers(payload)));
        else this.#message(fromBinary(wire.AgentServerMessageSchema, payload));
      }
      await this.#paused?.promise;
    }
  }

  #message(message: ServerMessage): void {
    if (this.ends.length > 0) this.late++;
    this.messages.push(message);
    this.#stream.take(message.message, this);
  }
}

function must<T>(decoded: Decoded<T>): T {
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.error));
  return decoded.value;
}

/** The answer to a read: a file of this content. */
export function readAnswer(exec: ExecRequest, content = "A\n"): ExecAnswer | undefined {
  if (exec.message.case !== "readArgs") return undefined;
  const { path } = exec.message.value;
  return {
    case: "readResult",
    value: { result: { case: "success", value: { path, output: { case: "content", value: content }, totalLines: 1 } } },
  };
}

/** A message by name, the kind of its content behind a dot: `interactionUpdate.textDelta`. */
export function kindOf({ message }: ServerMessage): string {
  switch (message.case) {
    case "interactionUpdate":
    case "kvServerMessage":
    case "execServerMessage":
    case "execServerControlMessage":
      return `${message.case}.${message.value.message.case ?? ""}`;
    default:
      return message.case ?? "";
  }
}

function textOf({ message }: ServerMessage): string {
  return message.case === "interactionUpdate" && message.value.message.case === "textDelta"
    ? message.value.message.value.text
    : "";
}
