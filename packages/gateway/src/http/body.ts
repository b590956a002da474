import type { ServerHttp2Stream } from "node:http2";
import { dialectOf } from "../stream/dialect.ts";
import { type HttpRequest, type HttpResponse, isHttp2 } from "./types.ts";

/** The reset code of a stream that ended well. */
const NO_ERROR = 0;

/** A request's body: its bytes, too many of them, or nobody left to answer. */
export type Body =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  | { readonly kind: "tooLarge" }
  | { readonly kind: "gone" };

/**
 * Reads a whole body of at most `limit` bytes. A longer one is read to its end without keeping it, because a client on
 * a kept connection reads no answer before it has sent its request (wire section 2.4); one over twice the limit loses
 * its connection. Never rejects.
 */
export function readBody(request: HttpRequest, limit: number): Promise<Body> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.byteLength;
      if (length <= limit) chunks.push(chunk);
      else chunks = [];
      if (length > 2 * limit + 65_536) request.destroy();
    });
    request.once("end", () => {
      if (length > limit) resolve({ kind: "tooLarge" });
      else resolve({ kind: "whole", bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length) });
    });
    const gone = (): void => resolve({ kind: "gone" });
    request.once("close", gone);
    request.once("error", gone);
    if (request.destroyed) gone();
  });
}

/**
 * Gets a body out of the way of an answer that does not need it: over HTTP/1.1 it is read to its end first, over HTTP/2
 * the stream is closed after the answer, so that a client that never ends its side is answered as well.
 */
export async function discardBody(request: HttpRequest, response: HttpResponse): Promise<void> {
  if (!isHttp2(response)) {
    await readBody(request, 0);
    return;
  }
  request.resume();
  const stream: ServerHttp2Stream | undefined = response.stream;
  // a reset would overtake the trailers of gRPC
  if (dialectOf(request.headers["content-type"], true) === "grpc") return;
  stream?.once("finish", () => {
    if (!stream.readableEnded) stream.close(NO_ERROR);
  });
}
