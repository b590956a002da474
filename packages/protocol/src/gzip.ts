import { gunzip, gunzipSync } from "node:zlib";
import { type Decoded, err, ok } from "./result.ts";

/** Up to this size (at most some 4 MB of output) decompressing at once is cheaper than a trip to the thread pool. */
const INLINE_BYTES = 4096;

/**
 * Decompresses gzip and stops at `limit` bytes of output, so that a small body cannot fill the memory.
 * `what` names the thing in the error.
 */
export async function inflate(data: Uint8Array, limit: number, what: string): Promise<Decoded<Uint8Array>> {
  try {
    const options = { maxOutputLength: limit };
    if (data.byteLength <= INLINE_BYTES) return ok(gunzipSync(data, options));
    return ok(
      await new Promise<Uint8Array>((resolve, reject) => {
        gunzip(data, options, (error, result) => (error ? reject(error) : resolve(result)));
      }),
    );
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ERR_BUFFER_TOO_LARGE") return err({ kind: "tooLarge", what, limit });
    return err({ kind: "frame", reason: "gzip" });
  }
}

/**
 * The body of a unary call as it was before its `content-encoding` (wire section 2.4): `gzip`, `identity` or none.
 * The compressed body itself must be within `limit` as well.
 */
export async function inflateBody(
  body: Uint8Array,
  encoding: string | undefined,
  limit: number = MAX_MESSAGE_BYTES,
): Promise<Decoded<Uint8Array>> {
  if (body.byteLength > limit) return err({ kind: "tooLarge", what: "The body", limit });
  switch (encoding?.trim().toLowerCase() ?? "") {
    case "":
    case "identity":
      return ok(body);
    case "gzip":
    case "x-gzip":
      return body.byteLength === 0 ? ok(body) : inflate(body, limit, "The body");
    default:
      return err({ kind: "malformed", what: "a body of a known content-encoding" });
  }
}

/** 64 MiB: the largest message this server reads or writes (wire section 2.4). */
export const MAX_MESSAGE_BYTES: number = 64 * 1024 * 1024;
