import {
  decodeTrailers,
  encodeFrame,
  FLAG_TRAILERS,
  framePayload,
  FrameReader,
  inflateBody,
} from "@chartroom/protocol";
import { type ClientFailure, httpFailure, lost, serverFailure, unreadable } from "./failure.ts";
import type { UnaryAnswer } from "./transport.ts";

/** A whole HTTP answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
}

/** The body of a unary request: bare in Connect, in an envelope in gRPC-Web (wire section 2.4). */
export function unaryBody(message: Uint8Array, grpcWeb: boolean): Uint8Array {
  return grpcWeb ? encodeFrame(0, message) : message;
}

/** Reads the answer of a unary call. */
export async function readUnary(answer: HttpAnswer, grpcWeb: boolean): Promise<UnaryAnswer> {
  const body = await inflateBody(answer.body, answer.header("content-encoding"));
  if (!body.ok) return failed(unreadable(body.error));
  if (answer.status !== 200) return failed(httpFailure(answer.status, Buffer.from(body.value).toString()));
  return grpcWeb ? readGrpcWeb(answer, body.value) : { ok: true, message: body.value };
}

async function readGrpcWeb(answer: HttpAnswer, body: Uint8Array): Promise<UnaryAnswer> {
  const inHeaders = headerStatus(answer.header);
  if (inHeaders !== undefined && body.length === 0) return readTrailers(inHeaders, new Uint8Array());
  const frames = new FrameReader("grpcWeb").push(body);
  if (!frames.ok) return failed(unreadable(frames.error));
  let message: Uint8Array = new Uint8Array();
  for (const frame of frames.value) {
    const payload = await framePayload(frame);
    if (!payload.ok) return failed(unreadable(payload.error));
    if ((frame.flags & FLAG_TRAILERS) !== 0) return readTrailers(payload.value, message);
    message = payload.value;
  }
  return failed(lost("the answer has no status"));
}

function readTrailers(trailers: Uint8Array, message: Uint8Array): UnaryAnswer {
  const end = decodeTrailers(trailers);
  if (!end.ok) return failed(unreadable(end.error));
  return end.value.kind === "completed" ? { ok: true, message } : failed(serverFailure(end.value));
}

/** A gRPC status that came in the headers, as trailers would have it; undefined when there is none. */
export function headerStatus(header: (name: string) => string | undefined): Uint8Array | undefined {
  if (header("grpc-status") === undefined) return undefined;
  const lines = ["grpc-status", "grpc-message", "grpc-status-details-bin"].flatMap((name) => {
    const value = header(name);
    return value === undefined ? [] : [`${name}: ${value}\r\n`];
  });
  return Buffer.from(lines.join(""));
}

function failed(failure: ClientFailure): UnaryAnswer {
  return { ok: false, failure };
}
