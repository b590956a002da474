/** Codes of the Connect protocol that this service uses. */
export type ConnectCode =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated";

/** Stable reasons; the same in code, database, logs, traces and charts. */
export type FailureCode =
  | "CANCELLED"
  | "SUPERSEDED"
  | "PARK_EXPIRED"
  | "PARK_CAPACITY"
  | "LOCAL_CAPACITY"
  | "PROVIDER_AUTH"
  | "PROVIDER_RATE_LIMIT"
  | "PROVIDER_OVERLOADED"
  | "PROVIDER_INVALID_REQUEST"
  | "PROVIDER_REFUSED"
  | "PROVIDER_TIMEOUT"
  | "PROVIDER_TRANSPORT"
  | "PROVIDER_SERVER"
  | "PROVIDER_INTERRUPTED"
  | "MODEL_NOT_FOUND"
  | "MODEL_OUTPUT_LIMIT"
  | "CONTEXT_TOO_LONG"
  | "COMPACTION_FAILED"
  | "STEP_LIMIT"
  | "PREPARE_TIMEOUT"
  | "PREPARE_FAILED"
  | "BLOB_INVALID"
  | "BLOB_MISSING"
  | "HISTORY_INVALID"
  | "INVALID_REQUEST"
  | "IDENTITY_CONFLICT"
  | "NOT_FOUND"
  | "NOT_OWNER"
  | "STORE_UNAVAILABLE"
  | "DRAINING"
  | "TRANSPORT_WAIT_EXPIRED"
  | "REPLACED"
  | "UNAUTHENTICATED"
  | "UNSUPPORTED"
  | "INTERNAL";

/** What a client is told; `title` and `detail` are safe text (no key, prompt, tool result or URL). */
export interface Failure {
  readonly code: FailureCode;
  readonly title: string;
  readonly detail: string;
  /** May the client try again by itself? */
  readonly retryable: boolean;
}

export type Result<T, E = Failure> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };
