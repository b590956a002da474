import {
  type Decoded,
  decodeEndStream,
  decodeTrailers,
  encodeFrame,
  FLAG_END_STREAM,
  FLAG_TRAILERS,
  FrameReader,
  type StreamEnd,
  agent,
  aiserver,
  create,
  fromBinary,
  toBinary,
  type MessageInitShape,
} from "@chartroom/protocol";
import type { OpenCall, Peer, Reply } from "./peer.ts";
import { until } from "./until.ts";

export type StreamDialect = "connect" | "grpcWeb";
const CONTENT_TYPE: Readonly<Record<StreamDialect, string>> = {
  connect: "application/connect+proto",
  grpcWeb: "application/grpc-web+proto",
};

export const RUN = "/agent.v1.AgentService/Run";
export const RUN_SSE = "/agent.v1.AgentService/RunSSE";
export const BIDI_APPEND = "/aiserver.v1.BidiService/BidiAppend";

export type ServerMessage = ReturnType<typeof decodeServer>;
const decodeServer = (bytes: Uint8Array) => fromBinary(agent.AgentServerMessageSchema, bytes);

/** The downlink of a stream as a client reads it. */
export class Downstream {
  readonly call: OpenCall;
  readonly messages: ServerMessage[] = [];
  status = 0;
  headers: Readonly<Record<string, string>> = {};
  end: StreamEnd | undefined;
  /** The bytes are over, cleanly or not. */
  closed = false;
  /** What was wrong with the bytes. */
  broken: unknown;
  #paused: PromiseWithResolvers<void> | undefined;

  constructor(call: OpenCall, dialect: StreamDialect) {
    this.call = call;
    void this.#read(dialect);
  }

  /** The messages that are not heartbeats. */
  get content(): readonly ServerMessage[] {
    return this.messages.filter((message) => !isHeartbeat(message));
  }
  get texts(): readonly string[] {
    return this.content.map(textOf);
  }
  get heartbeats(): number {
    return this.messages.length - this.content.length;
  }

  /** Reads nothing more until `resume`: the answer backs up to the server. */
  pause(): void {
    this.#paused ??= Promise.withResolvers();
  }
  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  opened(): Promise<void> {
    return until(() => this.messages.length > 0, "the first heartbeat");
  }
  got(count: number): Promise<void> {
    return until(() => this.content.length >= count, `${count} messages`);
  }
  async over(): Promise<StreamEnd | undefined> {
    await until(() => this.closed, "the end of the stream");
    return this.end;
  }

  async #read(dialect: StreamDialect): Promise<void> {
    try {
      const { status, headers, down } = await this.call.head;
      this.status = status;
      this.headers = headers;
      const reader = new FrameReader(dialect);
      for await (const chunk of down) {
        await this.#paused?.promise;
        for (const { flags, payload } of must(reader.push(chunk as Buffer))) {
          if (flags === FLAG_END_STREAM) this.end = must(decodeEndStream(payload));
          else if (flags === FLAG_TRAILERS) this.end = must(decodeTrailers(payload));
          else this.messages.push(decodeServer(payload));
        }
      }
      must(reader.end());
    } catch (error) {
      this.broken = error;
    }
    this.closed = true;
  }
}

function must<T>(decoded: Decoded<T>): T {
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.error));
  return decoded.value;
}

export function isHeartbeat(message: ServerMessage): boolean {
  return message.message.case === "interactionUpdate" && message.message.value.message.case === "heartbeat";
}

export function textOf(message: ServerMessage): string {
  const update = message.message.case === "interactionUpdate" ? message.message.value.message : undefined;
  return update?.case === "textDelta" ? update.value.text : (update?.case ?? message.message.case ?? "");
}

/** Opens the downlink of a request id. */
export function runSse(
  peer: Peer,
  requestId: string,
  dialect: StreamDialect = "connect",
  headers: Readonly<Record<string, string>> = {},
): Downstream {
  const call = peer.open("POST", RUN_SSE, {
    "content-type": CONTENT_TYPE[dialect],
    "x-request-id": requestId,
    ...headers,
  });
  const body = toBinary(aiserver.BidiRequestIdSchema, create(aiserver.BidiRequestIdSchema, { requestId }));
  call.up.end(encodeFrame(0, body));
  return new Downstream(call, dialect);
}

/** Opens a stream of both directions; messages go up through `send`. */
export function run(
  peer: Peer,
  requestId: string | undefined,
  dialect: StreamDialect = "connect",
  headers: Readonly<Record<string, string>> = {},
): Downstream & { send(message: Uint8Array): void } {
  const call = peer.open("POST", RUN, {
    "content-type": CONTENT_TYPE[dialect],
    ...(requestId === undefined ? {} : { "x-request-id": requestId }),
    ...headers,
  });
  const down = new Downstream(call, dialect);
  return Object.assign(down, { send: (message: Uint8Array) => void call.up.write(encodeFrame(0, message)) });
}

/** Sends a message as an append. */
export function append(
  peer: Peer,
  requestId: string,
  seqno: number,
  message: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return peer.send(
    "POST",
    BIDI_APPEND,
    { "content-type": "application/proto", "x-request-id": requestId, ...headers },
    appendBody(requestId, seqno, message),
  );
}

export function appendBody(requestId: string, seqno: number, message: Uint8Array): Uint8Array {
  const request = create(aiserver.BidiAppendRequestSchema, {
    requestId: { requestId },
    appendSeqno: BigInt(seqno),
    data: Buffer.from(message).toString("hex"),
  });
  return toBinary(aiserver.BidiAppendRequestSchema, request);
}

export function clientMessage(
  message: NonNullable<MessageInitShape<typeof agent.AgentClientMessageSchema>["message"]>,
): Uint8Array {
  return toBinary(agent.AgentClientMessageSchema, create(agent.AgentClientMessageSchema, { message }));
}

export interface RunInit {
  readonly conversationId?: string;
  readonly messageId?: string;
  readonly runId?: string;
  readonly text?: string;
}

/** A Run request with a user message; without a message id it is a resume. */
export function runRequest({ conversationId = "conv-1", messageId, runId, text = "hello" }: RunInit = {}): Uint8Array {
  return clientMessage({
    case: "runRequest",
    value: {
      ...(conversationId === "" ? {} : { conversationId }),
      ...(runId === undefined ? {} : { runId }),
      conversationState: {},
      requestedModel: { modelId: "model-1" },
      action: {
        action:
          messageId === undefined
            ? { case: "resumeAction", value: {} }
            : { case: "userMessageAction", value: { userMessage: { messageId, text } } },
      },
    },
  });
}

export function prewarm(conversationId = "conv-1"): Uint8Array {
  return clientMessage({ case: "prewarmRequest", value: { conversationId, requestedModel: { modelId: "model-1" } } });
}
export const heartbeat: Uint8Array = clientMessage({ case: "clientHeartbeat", value: {} });
export function kvResult(id: number): Uint8Array {
  return clientMessage({ case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } });
}
export function execResult(id: number): Uint8Array {
  return clientMessage({ case: "execClientMessage", value: { id, message: { case: "readResult", value: {} } } });
}
export function cancelAction(reason = ""): Uint8Array {
  return clientMessage({ case: "conversationAction", value: { action: { case: "cancelAction", value: { reason } } } });
}
