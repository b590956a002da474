import type { ConnectCode } from "@chartroom/domain";
import { decodeConnectError, type StreamEnd, type WireError, wireFailure } from "@chartroom/protocol";

/**
 * Why a run or a call did not work.
 * - `unreachable`: there was no connection at all. `lost`: it broke. `stalled`: it went silent.
 * - `server`: the server said so. `protocol`: the server said something that cannot be read.
 */
export interface ClientFailure {
  readonly kind: "unreachable" | "lost" | "stalled" | "server" | "protocol";
  readonly code: ConnectCode;
  readonly title: string;
  readonly detail: string;
  readonly retryable: boolean;
}

/** Codes that are worth another try where the server gives no details (wire section 11, inferred). */
const RETRYABLE: ReadonlySet<ConnectCode> = new Set(["unavailable", "deadline_exceeded"]);
const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "EHOSTDOWN",
]);

/** An error that the server ended a stream or answered a call with; `is_retryable` of its details decides (wire section 12). */
export function serverFailure(end: Extract<StreamEnd, { kind: "error" }>): ClientFailure {
  const shown = end.details?.details;
  const immediate = shown?.shouldShowImmediateError ?? false;
  return {
    kind: "server",
    code: end.code,
    title: firstText(shown?.title, end.message, titleOf(end.code)),
    detail: shown?.detail ?? "",
    retryable: !immediate && (shown?.isRetryable ?? RETRYABLE.has(end.code)),
  };
}

/** An HTTP answer that is not 200: its Connect error, or what its status stands for. */
export function httpFailure(status: number, body: string): ClientFailure {
  const error = parseError(body);
  if (error !== undefined) return serverFailure(error);
  const code = codeOfStatus(status);
  const detail = `The server answered with HTTP status ${status}.`;
  return { kind: "server", code, title: titleOf(code), detail, retryable: RETRYABLE.has(code) };
}

/** An error of the network; `host` names the server in it. */
export function networkFailure(error: unknown, host: string): ClientFailure {
  const code = codeOf(error);
  if (UNREACHABLE.has(code)) {
    return {
      kind: "unreachable",
      code: "unavailable",
      title: "Server unreachable",
      detail: `${host} does not answer (${code}).`,
      retryable: true,
    };
  }
  if (isCertificate(code)) {
    return {
      kind: "unreachable",
      code: "unavailable",
      title: "Certificate not trusted",
      detail: `${host} has a certificate that this machine does not trust (${code}). --ca FILE names its authority.`,
      retryable: false,
    };
  }
  if (code === "ERR_HTTP2_ERROR" || code === "ERR_SSL_NO_APPLICATION_PROTOCOL" || code.startsWith("HPE_")) {
    return {
      kind: "unreachable",
      code: "unavailable",
      title: "Not the same language",
      detail: `${host} does not speak this protocol (${code}). --transport h1 uses HTTP/1.1.`,
      retryable: false,
    };
  }
  return lost(code === "" ? String(error) : code);
}

/** The reason of the network itself, where another error only passes it on (a stream whose connection failed). */
function codeOf(error: unknown): string {
  const { code = "", cause } = error as { readonly code?: string; readonly cause?: unknown };
  const inner = typeof cause === "object" && cause !== null ? codeOf(cause) : "";
  return inner === "" ? code : inner;
}

/** The stream ended or broke in the middle. */
export function lost(reason: string): ClientFailure {
  return {
    kind: "lost",
    code: "unavailable",
    title: "Connection lost",
    detail: `The connection to the server broke (${reason}).`,
    retryable: true,
  };
}

/** Nothing came for `ms`. */
export function stalled(ms: number): ClientFailure {
  return {
    kind: "stalled",
    code: "unavailable",
    title: "Connection stalled",
    detail: `Nothing came from the server for ${Math.round(ms / 1000)} s.`,
    retryable: true,
  };
}

/** Bytes that are no message. */
export function unreadable(error: WireError): ClientFailure {
  const { detail } = wireFailure(error);
  return { kind: "protocol", code: "internal", title: "Unreadable answer", detail, retryable: false };
}

function parseError(body: string): Extract<StreamEnd, { kind: "error" }> | undefined {
  try {
    const json = JSON.parse(body) as { readonly code?: unknown };
    return typeof json.code === "string" ? decodeConnectError(json) : undefined;
  } catch {
    return undefined;
  }
}

/** General Connect rule for an answer without a Connect error. */
function codeOfStatus(status: number): ConnectCode {
  switch (status) {
    case 400:
      return "internal";
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 404:
      return "unimplemented";
    case 429:
    case 502:
    case 503:
    case 504:
      return "unavailable";
    default:
      return "unknown";
  }
}

function isCertificate(code: string): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code);
}

function firstText(...texts: readonly (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && text !== "") ?? "";
}

function titleOf(code: ConnectCode): string {
  const words = code.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
