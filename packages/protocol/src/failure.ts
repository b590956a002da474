import type { ConnectCode, Failure, FailureCode } from "@chartroom/domain";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  ErrorDetails_Error as Reason,
  ErrorDetailsSchema,
  type ErrorDetails,
} from "@chartroom/protocols/aiserver/v1/errors";

interface Encoding {
  readonly code: ConnectCode;
  /** `ErrorDetails.error`: steers which dialogue the client shows. */
  readonly reason: ErrorDetails["error"];
}

const own = (code: ConnectCode): Encoding => ({ code, reason: Reason.CUSTOM_MESSAGE });
const provider = (code: ConnectCode): Encoding => ({ code, reason: Reason.PROVIDER_ERROR });
const stopped = (code: ConnectCode): Encoding => ({ code, reason: Reason.USER_ABORTED_REQUEST });

/** How each failure travels (wire section 12; lifecycle specification, section 8). A missing code does not compile. */
const ENCODING: Record<FailureCode, Encoding> = {
  CANCELLED: stopped("canceled"),
  SUPERSEDED: stopped("aborted"),
  REPLACED: stopped("aborted"),
  PARK_EXPIRED: own("resource_exhausted"),
  PARK_CAPACITY: own("resource_exhausted"),
  LOCAL_CAPACITY: own("resource_exhausted"),
  // Not `unauthenticated`: that would tell the client that its own sign-in is bad.
  PROVIDER_AUTH: provider("unavailable"),
  PROVIDER_RATE_LIMIT: { code: "resource_exhausted", reason: Reason.RATE_LIMITED },
  PROVIDER_OVERLOADED: provider("unavailable"),
  PROVIDER_INVALID_REQUEST: provider("invalid_argument"),
  PROVIDER_REFUSED: provider("unavailable"),
  PROVIDER_TIMEOUT: provider("unavailable"),
  PROVIDER_TRANSPORT: provider("unavailable"),
  PROVIDER_SERVER: provider("unavailable"),
  PROVIDER_INTERRUPTED: provider("unavailable"),
  MODEL_NOT_FOUND: { code: "not_found", reason: Reason.BAD_MODEL_NAME },
  MODEL_OUTPUT_LIMIT: own("resource_exhausted"),
  CONTEXT_TOO_LONG: own("invalid_argument"),
  COMPACTION_FAILED: own("resource_exhausted"),
  STEP_LIMIT: own("resource_exhausted"),
  PREPARE_TIMEOUT: own("deadline_exceeded"),
  PREPARE_FAILED: own("internal"),
  BLOB_INVALID: own("invalid_argument"),
  BLOB_MISSING: own("failed_precondition"),
  HISTORY_INVALID: own("failed_precondition"),
  INVALID_REQUEST: own("invalid_argument"),
  IDENTITY_CONFLICT: own("failed_precondition"),
  NOT_FOUND: own("not_found"),
  NOT_OWNER: own("unavailable"),
  STORE_UNAVAILABLE: own("unavailable"),
  DRAINING: own("unavailable"),
  TRANSPORT_WAIT_EXPIRED: own("deadline_exceeded"),
  UNAUTHENTICATED: { code: "unauthenticated", reason: Reason.NOT_LOGGED_IN },
  UNSUPPORTED: own("unimplemented"),
  INTERNAL: { code: "internal", reason: Reason.INTERNAL },
};

/** The Connect code of a failure. */
export function connectCode(code: FailureCode): ConnectCode {
  return ENCODING[code].code;
}

/** The `aiserver.v1.ErrorDetails` of a failure, serialized. What may not be retried is shown at once. */
export function errorDetails(failure: Failure): Uint8Array {
  const message = create(ErrorDetailsSchema, {
    error: ENCODING[failure.code].reason,
    details: {
      title: failure.title,
      detail: failure.detail,
      isRetryable: failure.retryable,
      showRequestId: true,
      ...(failure.retryable ? {} : { shouldShowImmediateError: true }),
    },
    isExpected: failure.code !== "INTERNAL",
  });
  return toBinary(ErrorDetailsSchema, message);
}

export const ERROR_DETAILS_TYPE = "aiserver.v1.ErrorDetails";

/** A Connect error in its JSON form: the `error` of an end-of-stream frame, or the body of a unary error. */
export interface ConnectErrorJson {
  readonly code: ConnectCode;
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly value: string }[];
}

/** The JSON form of a failure; `value` is base64 without padding. */
export function connectError(failure: Failure): ConnectErrorJson {
  const value = Buffer.from(errorDetails(failure)).toString("base64").replace(/=+$/, "");
  return { code: connectCode(failure.code), message: failure.title, details: [{ type: ERROR_DETAILS_TYPE, value }] };
}

const HTTP_STATUS: Record<ConnectCode, number> = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
};

/** The HTTP status of a unary error (general Connect rule). Streams always answer 200. */
export function httpStatus(code: ConnectCode): number {
  return HTTP_STATUS[code];
}
