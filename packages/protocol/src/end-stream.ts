import type { ConnectCode, Terminal } from "@chartroom/domain";
import { fromBinary } from "./from-binary.ts";
import { type ErrorDetails, ErrorDetailsSchema } from "@chartroom/protocols/aiserver/v1/errors";
import { connectError, ERROR_DETAILS_TYPE } from "./failure.ts";
import { encodeFrame, FLAG_END_STREAM } from "./frame.ts";
import { type Decoded, err, ok } from "./result.ts";

/** The end-of-stream frame of a Connect stream (wire section 2.4): `{}`, or `{"error":…}` with `ErrorDetails`. */
export function endStreamFrame(terminal: Terminal): Uint8Array {
  const json = terminal.kind === "completed" ? {} : { error: connectError(terminal.failure) };
  return encodeFrame(FLAG_END_STREAM, Buffer.from(JSON.stringify(json)));
}

/** How a stream ended, as a client sees it. */
export type StreamEnd =
  | { readonly kind: "completed" }
  | {
      readonly kind: "error";
      readonly code: ConnectCode;
      readonly message: string;
      readonly details: ErrorDetails | undefined;
    };

const CODES: Record<ConnectCode, true> = {
  canceled: true,
  unknown: true,
  invalid_argument: true,
  deadline_exceeded: true,
  not_found: true,
  already_exists: true,
  permission_denied: true,
  resource_exhausted: true,
  failed_precondition: true,
  aborted: true,
  unimplemented: true,
  internal: true,
  unavailable: true,
  unauthenticated: true,
};

/** Takes a code as it comes; one that Connect does not know is `unknown`. */
export function parseConnectCode(code: unknown): ConnectCode {
  return typeof code === "string" && Object.hasOwn(CODES, code) ? (code as ConnectCode) : "unknown";
}

/** Reads the payload of an end-of-stream frame. */
export function decodeEndStream(payload: Uint8Array): Decoded<StreamEnd> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch {
    return err({ kind: "malformed", what: "an end-of-stream message" });
  }
  if (!isRecord(json)) return err({ kind: "malformed", what: "an end-of-stream message" });
  if (json["error"] === undefined || json["error"] === null) return ok({ kind: "completed" });
  return ok(decodeConnectError(json["error"]));
}

/** Reads a Connect error in its JSON form; what is missing or odd becomes `unknown`, an empty text, no details. */
export function decodeConnectError(error: unknown): Extract<StreamEnd, { kind: "error" }> {
  const fields = isRecord(error) ? error : {};
  const message = typeof fields["message"] === "string" ? fields["message"] : "";
  const details = Array.isArray(fields["details"]) ? fields["details"].find(isErrorDetails) : undefined;
  return { kind: "error", code: parseConnectCode(fields["code"]), message, details: decodeDetails(details?.value) };
}

/** Reads a base64 `ErrorDetails`, with or without padding. */
export function decodeDetails(value: string | undefined): ErrorDetails | undefined {
  if (value === undefined) return undefined;
  try {
    return fromBinary(ErrorDetailsSchema, Buffer.from(value, "base64"));
  } catch {
    return undefined;
  }
}

function isErrorDetails(detail: unknown): detail is { readonly value: string } {
  return isRecord(detail) && detail["type"] === ERROR_DETAILS_TYPE && typeof detail["value"] === "string";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
