import type { Failure, Result } from "@chartroom/domain";

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}

/**
 * What can be wrong with bytes from the wire. Never holds the value itself.
 * - `malformed`: not a message of that kind.
 * - `identity`: an id that no parser accepts; `field` is the wire's name of it.
 * - `missing`: a field without which the message means nothing.
 * - `tooLarge`: over `limit` bytes, compressed or not.
 * - `frame`: the envelope stream is broken.
 */
export type WireError =
  | { readonly kind: "malformed"; readonly what: string }
  | { readonly kind: "identity"; readonly field: string; readonly reason: IdentityReason }
  | { readonly kind: "missing"; readonly field: string }
  | { readonly kind: "tooLarge"; readonly what: string; readonly limit: number }
  | { readonly kind: "frame"; readonly reason: FrameReason };

export type IdentityReason = "empty" | "tooLong" | "dots" | "characters" | "pair";
export type FrameReason = "flags" | "truncated" | "gzip" | "afterEnd";

export type Decoded<T> = Result<T, WireError>;

const IDENTITY_TEXT: Record<IdentityReason, string> = {
  empty: "is empty",
  tooLong: "is too long",
  dots: "consists of dots",
  characters: "contains a character that an id may not have",
  pair: "needs its companion header",
};
const FRAME_TEXT: Record<FrameReason, string> = {
  flags: "A frame has flags that this stream may not use.",
  truncated: "The stream ended inside a frame.",
  gzip: "A compressed frame could not be decompressed.",
  afterEnd: "A frame follows the end of the stream.",
};

/** What the client is told about a wire error: safe text, never retryable. */
export function wireFailure(error: WireError): Failure {
  return { code: "INVALID_REQUEST", title: "Invalid request", detail: detailOf(error), retryable: false };
}

function detailOf(error: WireError): string {
  switch (error.kind) {
    case "malformed":
      return `The message could not be read as ${error.what}.`;
    case "identity":
      return `${error.field} ${IDENTITY_TEXT[error.reason]}.`;
    case "missing":
      return `${error.field} is missing.`;
    case "tooLarge":
      return `${error.what} is larger than ${error.limit} bytes.`;
    case "frame":
      return FRAME_TEXT[error.reason];
    default:
      return error satisfies never;
  }
}
