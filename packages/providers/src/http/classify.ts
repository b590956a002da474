import type { ProviderFailureKind } from "@chartroom/domain";
import type { ErrorBody } from "./error-body.ts";
import { readOverflow } from "./overflow.ts";

export interface Classified {
  readonly kind: ProviderFailureKind;
  readonly retryable: boolean;
  readonly limitTokens?: number;
}

const final = (kind: ProviderFailureKind): Classified => ({ kind, retryable: false });
const passing = (kind: ProviderFailureKind): Classified => ({ kind, retryable: true });

/** Types and codes that mean the same whatever the status; error events come without one. */
const WORDS: Readonly<Record<string, Classified>> = {
  authentication_error: final("auth"),
  invalid_api_key: final("auth"),
  permission_error: final("auth"),
  permission_denied: final("auth"),
  billing_error: final("rateLimit"),
  insufficient_quota: final("rateLimit"),
  billing_hard_limit_reached: final("rateLimit"),
  rate_limit_error: passing("rateLimit"),
  rate_limit_exceeded: passing("rateLimit"),
  resource_exhausted: passing("rateLimit"),
  overloaded_error: passing("overloaded"),
  engine_overloaded: passing("overloaded"),
  server_overloaded: passing("overloaded"),
  unavailable: passing("overloaded"),
  not_found_error: final("modelNotFound"),
  model_not_found: final("modelNotFound"),
  invalid_model: final("modelNotFound"),
  timeout_error: passing("timeout"),
  api_error: passing("server"),
  server_error: passing("server"),
  internal_error: passing("server"),
  internal_server_error: passing("server"),
  content_filter: final("refused"),
  content_policy_violation: final("refused"),
  responsibleaipolicyviolation: final("refused"),
  data_inspection_failed: final("refused"),
  invalid_request_error: final("invalidRequest"),
  bad_request_error: final("invalidRequest"),
};

const NO_MODEL =
  /\bmodel\b.{0,80}\b(?:not (?:found|exist|supported|available)|does ?n[o']t exist|is unknown)|(?:unknown|invalid|no such) model\b|not a valid model/i;
const FILTERED =
  /content (?:management )?policy|content[ _]filter|flagged|safety (?:system|policy|reasons)|moderation/i;

/** What an error status means. `known`: the body is an API's own error. */
export function classifyStatus(status: number, error: ErrorBody): Classified {
  const overflow = status === 429 ? undefined : readOverflow(error);
  if (overflow && status < 500) return { ...final("overflow"), ...overflow };
  const word = byWord(error);
  switch (status) {
    case 400:
    case 422:
      if (word && word.kind !== "server") return word.kind === "invalidRequest" ? byText(error) : word;
      return byText(error);
    case 401:
      return final("auth");
    case 402:
      return final("rateLimit");
    case 403:
      return FILTERED.test(error.message) ? final("refused") : final("auth");
    case 404:
      return error.known ? final("modelNotFound") : final("invalidRequest");
    case 408:
    case 504:
    case 524:
      return passing("timeout");
    case 409:
      return passing("server");
    case 413:
      return final("overflow");
    case 429:
      // no waiting makes a request smaller
      if (/request too large/i.test(error.message)) return final("rateLimit");
      return word?.kind === "rateLimit" || word?.kind === "overloaded" ? word : passing("rateLimit");
    case 501:
    case 505:
      return final("server");
    case 503:
    case 529:
      return passing("overloaded");
    default:
      if (status >= 500) return word?.kind === "overloaded" ? word : passing("server");
      return final("invalidRequest");
  }
}

/** What an error event in a stream that had begun well means. One that says nothing known is the vendor's own failure. */
export function classifyEvent(error: ErrorBody): Classified {
  const overflow = readOverflow(error);
  if (overflow) return { ...final("overflow"), ...overflow };
  const status = Number(error.code);
  if (Number.isInteger(status) && status >= 400 && status < 600)
    return classifyStatus(status, { ...error, known: true });
  const word = byWord(error);
  if (word) return word.kind === "invalidRequest" ? byText(error) : word;
  if (/overloaded|capacity/i.test(error.message)) return passing("overloaded");
  return FILTERED.test(error.message) ? final("refused") : passing("server");
}

function byWord(error: ErrorBody): Classified | undefined {
  return WORDS[error.code.toLowerCase()] ?? WORDS[error.type.toLowerCase()];
}

function byText(error: ErrorBody): Classified {
  if (FILTERED.test(error.message)) return final("refused");
  return NO_MODEL.test(error.message) ? final("modelNotFound") : final("invalidRequest");
}
