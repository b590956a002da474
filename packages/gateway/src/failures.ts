import type { Failure, FailureCode } from "@chartroom/domain";

const failure = (code: FailureCode, title: string, detail: string, retryable = false): Failure => ({
  code,
  title,
  detail,
  retryable,
});

/** What the gateway itself tells a client; all safe text. */
export const FAILURES = {
  conflict: failure("IDENTITY_CONFLICT", "Conflict", "This request id belongs to another conversation."),
  ambiguous: failure(
    "IDENTITY_CONFLICT",
    "Conflict",
    "A run with this request id is under way, and nothing in the new request tells the two apart.",
  ),
  noConversation: failure("INVALID_REQUEST", "Invalid request", "conversation_id is missing."),
  draining: failure(
    "DRAINING",
    "Server is restarting",
    "The server is shutting down. Try again in a few seconds.",
    true,
  ),
  replaced: failure("REPLACED", "Replaced", "Another connection took over this stream."),
  waitExpired: failure("TRANSPORT_WAIT_EXPIRED", "No run", "No run was started for this stream in time.", true),
  gapExpired: failure(
    "TRANSPORT_WAIT_EXPIRED",
    "Message out of order",
    "The messages before this one did not arrive in time.",
    true,
  ),
  tooManyHeld: failure(
    "LOCAL_CAPACITY",
    "Too many messages",
    "Too many messages of this stream wait for earlier ones.",
  ),
  tooManyExchanges: failure("LOCAL_CAPACITY", "Server is full", "Too many streams are open."),
  tooLarge: failure("INVALID_REQUEST", "Too large", "The message is larger than this server accepts."),
  mediaType: failure("UNSUPPORTED", "Not supported", "This content type is not supported here."),
  encoding: failure("UNSUPPORTED", "Not supported", "This compression is not supported; use gzip or none."),
  httpVersion: failure(
    "UNSUPPORTED",
    "HTTP/2 needed",
    "This call needs HTTP/2; over HTTP/1.1 use RunSSE and BidiAppend.",
  ),
  unserved: failure("UNSUPPORTED", "Not supported", "This server does not offer this call."),
  storeUnavailable: failure(
    "STORE_UNAVAILABLE",
    "Storage unavailable",
    "The server cannot reach its database. Try again.",
    true,
  ),
  internal: failure("INTERNAL", "Server error", "The server made an error.", true),
} as const satisfies Record<string, Failure>;
