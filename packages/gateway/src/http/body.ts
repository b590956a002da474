import type { HttpRequest } from "./types.ts";

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

/** Reads a body of which nothing is wanted. */
export async function discardBody(request: HttpRequest): Promise<void> {
  await readBody(request, 0);
}
