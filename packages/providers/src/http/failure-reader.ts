import type { IncomingHttpHeaders } from "node:http";
import type { Clock, ModelLimits, ProviderFailure } from "@chartroom/domain";
import { classifyEvent, classifyStatus, type Classified } from "./classify.ts";
import { cleaner } from "./clean.ts";
import { errorBody, errorValue, type ErrorBody } from "./error-body.ts";
import { retryAfter } from "./retry-after.ts";
import type { Bound } from "./watch.ts";

/** Turns what can go wrong with a call into a ProviderFailure whose message is safe to show. */
export interface FailureReader {
  /** A response that is no stream. */
  response(status: number, headers: IncomingHttpHeaders, body: string): ProviderFailure;
  /** An error event in the stream; `value` is its parsed data. */
  event(value: unknown): ProviderFailure;
  /** The connection failed; `begun`: the answer had begun. */
  transport(error: unknown, begun: boolean): ProviderFailure;
  timeout(bound: Bound, limits: ModelLimits): ProviderFailure;
  interrupted(): ProviderFailure;
  unreadable(): ProviderFailure;
  refused(text: string): ProviderFailure;
  /** The vendor ended the answer by an error of its own. */
  broken(reason: string): ProviderFailure;
  aborted(): ProviderFailure;
}

/** `secrets`: the key, header values and the host, which must not be in any message. */
export function failureReader(provider: string, secrets: readonly string[], clock: Clock): FailureReader {
  const clean = cleaner(secrets);
  const told = (classified: Classified, error: ErrorBody, fallback: string): ProviderFailure => ({
    ...classified,
    message: clean(error.message) || fallback,
  });
  return {
    response(status, headers, body) {
      if (status === 200) return noStream(provider, body, told);
      const error = errorBody(body);
      const classified = classifyStatus(status, error);
      // some vendors say themselves that a retry is useless
      const retryable = classified.retryable && headers["x-should-retry"] !== "false";
      const wait = retryable ? retryAfter(headers, clock.now()) : undefined;
      const message = error.known ? error : { ...error, message: pageMessage(error.message) };
      return {
        ...told({ ...classified, retryable }, message, `${provider} answered ${status}.`),
        status,
        ...(wait !== undefined && { retryAfterMs: wait }),
      };
    },
    event(value) {
      const error = errorValue(value);
      return told(classifyEvent(error), error, `${provider} reported an error.`);
    },
    transport: (error, begun) => transport(provider, error, begun),
    timeout(bound, limits) {
      const seconds = Math.round(limits[`${bound}Ms`] / 1000);
      const what = {
        headers: `${provider} did not answer within ${seconds} s.`,
        idle: `${provider} was silent for ${seconds} s.`,
        total: `The answer took longer than ${seconds} s.`,
      }[bound];
      // an answer that took all the time there is will do so again
      return { kind: "timeout", message: what, retryable: bound !== "total" };
    },
    interrupted: () => ({
      kind: "interrupted",
      message: `${provider} ended the answer before it was finished.`,
      retryable: true,
    }),
    unreadable: () => ({
      kind: "server",
      message: `${provider} sent something that is not readable.`,
      retryable: true,
    }),
    refused: (text) => ({ kind: "refused", message: clean(text) || "The model refused to answer.", retryable: false }),
    broken: (reason) => ({
      kind: "server",
      message: `${provider} ended the answer: ${clean(reason)}.`,
      retryable: true,
    }),
    aborted: () => ({ kind: "aborted", message: "Aborted.", retryable: false }),
  };
}

/** 200, but a document instead of a stream: an error that a relay hides in it, or a wrong address. */
function noStream(
  provider: string,
  body: string,
  told: (classified: Classified, error: ErrorBody, fallback: string) => ProviderFailure,
): ProviderFailure {
  const error = errorBody(body);
  const fallback = `${provider} answered with a document instead of a stream; is the base URL right?`;
  if (error.known) return { ...told(classifyEvent(error), error, fallback), status: 200 };
  return { kind: "invalidRequest", status: 200, message: fallback, retryable: false };
}

/** Of a page only a short one can be a message. */
function pageMessage(body: string): string {
  return body.length <= 300 || !/<html/i.test(body) ? body : "";
}

const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "its host name could not be looked up",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  UND_ERR_SOCKET: "the connection was closed",
};

function transport(provider: string, error: unknown, begun: boolean): ProviderFailure {
  const code = codeOf(error);
  if (begun) {
    const how = CODES[code] ?? "the connection broke off";
    return { kind: "interrupted", message: `${provider} did not finish the answer: ${how}.`, retryable: true };
  }
  if (code === "UND_ERR_CONNECT_TIMEOUT" || code === "ETIMEDOUT") {
    return { kind: "timeout", message: `${provider} could not be reached in time.`, retryable: true };
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|HOSTNAME_MISMATCH/.test(code)) {
    return {
      kind: "transport",
      message: `The certificate of ${provider} was not accepted (${code}).`,
      retryable: false,
    };
  }
  const how = CODES[code] ?? (code === "" ? "the connection failed" : `the connection failed (${code})`);
  return { kind: "transport", message: `${provider} could not be reached: ${how}.`, retryable: true };
}

/** The code of an error or of what lies behind it (several addresses were tried, a cause). */
function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string") return /^[A-Z0-9_]+$/.test(code) ? code : "";
  if (Array.isArray(errors)) return codeOf(errors[0]);
  return codeOf(cause);
}
