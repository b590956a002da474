import { createHash } from "node:crypto";
import type { Failure, Principal } from "@chartroom/domain";
import {
  type Append,
  decodeAppend,
  decodeUplink,
  FrameReader,
  framePayload,
  inflateBody,
  parseHeaders,
  wireFailure,
  type CallHeaders,
  type Decoded,
  type HeaderSource,
} from "@chartroom/protocol";
import type { Answer } from "../exchange/hand-over.ts";
import type { OpenExchange } from "../exchange/exchanges.ts";
import { FAILURES } from "../failures.ts";
import { answerEmpty, answerEmptyFramed, answerFailure, answerFailureFramed } from "../http/answer.ts";
import { discardBody, readBody } from "../http/body.ts";
import { headerSource, type HttpRequest, type HttpResponse } from "../http/types.ts";
import { mediaType } from "../stream/dialect.ts";
import type { AgentPorts } from "./ports.ts";

/** Content types that are served here; JSON and the others go the way of the other unary calls. */
const PLAIN = "application/proto";
const FRAMED = "application/connect+proto";

/** Whether an append of this content type is for `handleBidiAppend`. */
export function isPlainAppend(request: HttpRequest): boolean {
  return [PLAIN, FRAMED].includes(mediaType(request.headers["content-type"]));
}

/** `BidiAppend`: one client message of a stream (wire section 3). Answered when the conversation has it, with no content. */
export async function handleBidiAppend(request: HttpRequest, response: HttpResponse, ports: AgentPorts): Promise<void> {
  const framed = mediaType(request.headers["content-type"]) === FRAMED;
  const header = headerSource(request);
  const fail = (failure: Failure): void => (framed ? answerFailureFramed : answerFailure)(response, failure);
  const caller = await ports.authenticate(header);
  if (!caller.ok) {
    await discardBody(request, response);
    return fail(caller.error);
  }
  // hexadecimal doubles the message
  const body = await readBody(request, 2 * ports.limits.messageBytes + 1024);
  if (body.kind === "gone") return;
  if (body.kind === "tooLarge") return fail(FAILURES.tooLarge);
  const append = await readAppend(body.bytes, framed, header, ports.limits.messageBytes);
  const failure = append.ok ? await takeAppend(append.value, caller.value, header, ports) : wireFailure(append.error);
  if (failure !== undefined) fail(failure);
  else (framed ? answerEmptyFramed : answerEmpty)(response);
}

async function readAppend(
  body: Uint8Array,
  framed: boolean,
  header: HeaderSource,
  limit: number,
): Promise<Decoded<Append>> {
  const plain = await inflateBody(body, header("content-encoding"), 2 * limit + 1024);
  if (!plain.ok) return plain;
  const message = framed || isEnvelope(plain.value) ? await unwrap(plain.value, 2 * limit + 1024) : plain;
  return message.ok ? decodeAppend(message.value) : message;
}

/** A protobuf message never begins with these bytes: there is no field 0. */
function isEnvelope(body: Uint8Array): boolean {
  return body.byteLength >= 5 && (body[0] === 0 || body[0] === 1);
}

async function unwrap(body: Uint8Array, limit: number): Promise<Decoded<Uint8Array>> {
  const reader = new FrameReader("request", limit);
  const frames = reader.push(body);
  if (!frames.ok) return frames;
  const end = reader.end();
  if (!end.ok) return end;
  const [frame, second] = frames.value;
  if (frame === undefined || second !== undefined)
    return { ok: false, error: { kind: "malformed", what: "one message" } };
  return framePayload(frame, limit);
}

/** Takes an append that is decoded; gives why it failed, or nothing. */
export async function takeAppend(
  append: Append,
  principal: Principal,
  header: HeaderSource,
  ports: AgentPorts,
): Promise<Answer> {
  if (append.message.byteLength > ports.limits.messageBytes) return FAILURES.tooLarge;
  const opened = ports.exchanges.get(principal, append.requestId);
  if (opened === undefined) return FAILURES.tooManyExchanges;
  const headers = parseHeaders(header);
  const message = decodeUplink(append.message);
  if (!message.ok) {
    await opened.exchange.ready();
    // speech to text sends appends as well, with ids and messages of its own (wire section 3)
    const foreign =
      message.error.kind === "malformed" && message.error.what === "AgentClientMessage" && !opened.uplink.known;
    if (foreign) return opened.exchange.drop(undefined, "not a message of the agent");
    return refuse(opened, append, wireFailure(message.error));
  }
  const opener = message.value.kind === "run" || message.value.kind === "prewarm";
  if (!headers.ok && opener) return refuse(opened, append, wireFailure(headers.error));
  return opened.uplink.take({
    seqno: append.seqno,
    message: message.value,
    headers: headers.ok ? headers.value : NO_HEADERS,
    size: append.message.byteLength,
    digest: opener ? digestOf(append.message) : "",
  });
}

const NO_HEADERS: CallHeaders = { ghostMode: false };

/** Of an opening's bytes: tells a repeated call from another request. */
export function digestOf(message: Uint8Array): string {
  return createHash("sha256").update(message).digest("base64");
}

/** A message that cannot be read fails its call; its number counts as received, and a stream that waits for it ends. */
function refuse({ exchange, uplink }: OpenExchange, append: Append, failure: Failure): Failure {
  exchange.failWaiting(failure);
  const nothing = {
    seqno: append.seqno,
    message: { kind: "heartbeat" },
    headers: NO_HEADERS,
    size: 0,
    digest: "",
  } as const;
  void uplink.take(nothing);
  return failure;
}
