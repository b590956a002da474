import type { Failure, FailureCode, Outcome, ProviderFailure, ProviderFailureKind, Terminal } from "@chartroom/domain";

interface Wording {
  readonly title: string;
  readonly detail: string;
  readonly retryable: boolean;
}

/** What a client reads for each stable reason, and whether it may try again by itself (lifecycle spec, section 8). */
const wordings: Readonly<Record<FailureCode, Wording>> = {
  CANCELLED: { title: "Cancelled", detail: "The Run was cancelled.", retryable: false },
  SUPERSEDED: { title: "Superseded", detail: "A newer message of this conversation took over.", retryable: false },
  PARK_EXPIRED: {
    title: "Run expired",
    detail: "No client came back to this Run in time. Its history is kept; send a message to go on.",
    retryable: false,
  },
  PARK_CAPACITY: {
    title: "Run ended for capacity",
    detail: "This Run waited without a client and made room for another. Its history is kept.",
    retryable: false,
  },
  LOCAL_CAPACITY: { title: "Server is full", detail: "Too many Runs are open. Wait for one to end.", retryable: false },
  PROVIDER_AUTH: {
    title: "Provider refused the key",
    detail: "The model provider did not accept the configured key.",
    retryable: false,
  },
  PROVIDER_RATE_LIMIT: {
    title: "Provider rate limit",
    detail: "The model provider limits the rate of requests.",
    retryable: true,
  },
  PROVIDER_OVERLOADED: { title: "Provider overloaded", detail: "The model provider is overloaded.", retryable: true },
  PROVIDER_INVALID_REQUEST: {
    title: "Provider refused the request",
    detail: "The model provider did not accept the request.",
    retryable: false,
  },
  PROVIDER_REFUSED: { title: "Model refused", detail: "The model refused to answer.", retryable: false },
  PROVIDER_TIMEOUT: {
    title: "Provider timed out",
    detail: "The model provider did not answer in time.",
    retryable: true,
  },
  PROVIDER_TRANSPORT: {
    title: "Provider connection failed",
    detail: "The connection to the model provider failed.",
    retryable: true,
  },
  PROVIDER_SERVER: { title: "Provider error", detail: "The model provider failed.", retryable: true },
  PROVIDER_INTERRUPTED: {
    title: "Answer interrupted",
    detail: "The model provider's answer ended early.",
    retryable: true,
  },
  MODEL_NOT_FOUND: { title: "Unknown model", detail: "This model is not configured on this server.", retryable: false },
  MODEL_OUTPUT_LIMIT: {
    title: "Output limit reached",
    detail: "The model reached its output limit inside a tool call.",
    retryable: false,
  },
  CONTEXT_TOO_LONG: {
    title: "Conversation too long",
    detail: "The conversation does not fit the model's window. Start a new one or choose a model with a larger window.",
    retryable: false,
  },
  COMPACTION_FAILED: {
    title: "Could not summarize",
    detail: "The conversation has become too long, and the model gave no usable summary of it. Nothing is lost.",
    retryable: false,
  },
  STEP_LIMIT: {
    title: "Step limit reached",
    detail: "The Run reached its limit of Steps. Send a message to go on.",
    retryable: false,
  },
  PREPARE_TIMEOUT: { title: "Could not start", detail: "The client's data did not arrive in time.", retryable: true },
  PREPARE_FAILED: { title: "Could not start", detail: "The Run could not be prepared.", retryable: true },
  BLOB_INVALID: {
    title: "Broken conversation data",
    detail: "A part of the client's conversation state does not match its checksum.",
    retryable: false,
  },
  BLOB_MISSING: {
    title: "Missing conversation data",
    detail: "The client no longer has a part of its conversation state.",
    retryable: false,
  },
  HISTORY_INVALID: {
    title: "Broken conversation data",
    detail: "The client's conversation state could not be read.",
    retryable: false,
  },
  INVALID_REQUEST: { title: "Bad request", detail: "The request could not be read.", retryable: false },
  IDENTITY_CONFLICT: {
    title: "Conflict",
    detail: "This request id belongs to another conversation, or cannot be told apart from one that runs.",
    retryable: false,
  },
  NOT_FOUND: { title: "Not found", detail: "There is no such Run or conversation.", retryable: false },
  NOT_OWNER: {
    title: "Busy on another server",
    detail: "Another server holds this conversation. Try again in a few seconds.",
    retryable: true,
  },
  STORE_UNAVAILABLE: {
    title: "Storage unavailable",
    detail: "The server cannot reach its database. Nothing is lost; try again.",
    retryable: true,
  },
  DRAINING: {
    title: "Server is restarting",
    detail: "The server is shutting down. Try again in a few seconds.",
    retryable: true,
  },
  TRANSPORT_WAIT_EXPIRED: { title: "No Run", detail: "No Run came for this stream in time.", retryable: true },
  REPLACED: { title: "Replaced", detail: "Another connection took over this stream.", retryable: false },
  UNAUTHENTICATED: { title: "Not signed in", detail: "A valid token is required.", retryable: false },
  UNSUPPORTED: { title: "Not supported", detail: "This server does not support this request.", retryable: false },
  INTERNAL: {
    title: "Server error",
    detail: "The server made an error. The Run ended; its history is kept.",
    retryable: true,
  },
};

/** What a store throws that could not be reached: the same call may succeed later. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof Error && "retryable" in error && error.retryable === true;
}

export function failure(code: FailureCode, detail?: string): Failure {
  const wording = wordings[code];
  return { code, title: wording.title, detail: detail ?? wording.detail, retryable: wording.retryable };
}

export function terminalOf(outcome: Outcome, detail?: string): Terminal {
  return outcome.kind === "completed"
    ? { kind: "completed" }
    : { kind: "error", failure: failure(outcome.code ?? "INTERNAL", detail) };
}

const providerCodes: Readonly<Record<ProviderFailureKind, FailureCode>> = {
  auth: "PROVIDER_AUTH",
  rateLimit: "PROVIDER_RATE_LIMIT",
  overloaded: "PROVIDER_OVERLOADED",
  overflow: "CONTEXT_TOO_LONG",
  invalidRequest: "PROVIDER_INVALID_REQUEST",
  modelNotFound: "MODEL_NOT_FOUND",
  refused: "PROVIDER_REFUSED",
  timeout: "PROVIDER_TIMEOUT",
  transport: "PROVIDER_TRANSPORT",
  server: "PROVIDER_SERVER",
  interrupted: "PROVIDER_INTERRUPTED",
  aborted: "CANCELLED",
};

export function codeOf(provider: ProviderFailure): FailureCode {
  return providerCodes[provider.kind];
}

/** A provider's status and message are kept; its key and URL never are (the adapter took them out). */
export function detailOf(provider: ProviderFailure): string {
  const status = provider.status === undefined ? "" : `HTTP ${provider.status}: `;
  return `${status}${provider.message}`;
}
