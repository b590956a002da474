import type { ConnectCode, Terminal } from "@chartroom/domain";
import { fromBinary } from "./from-binary.ts";
import { ErrorDetailsSchema } from "@chartroom/protocols/aiserver/v1/errors";
import { fieldPayloads, wrap, wrapText } from "./bytes.ts";
import type { StreamEnd } from "./end-stream.ts";
import { connectCode, ERROR_DETAILS_TYPE, errorDetails } from "./failure.ts";
import { encodeFrame, FLAG_TRAILERS } from "./frame.ts";
import { type Decoded, err, ok } from "./result.ts";

/** gRPC status numbers by Connect code; 0 is success. */
const STATUS: Record<ConnectCode, number> = {
  canceled: 1,
  unknown: 2,
  invalid_argument: 3,
  deadline_exceeded: 4,
  not_found: 5,
  already_exists: 6,
  permission_denied: 7,
  resource_exhausted: 8,
  failed_precondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
};

/** The trailers frame of a gRPC-Web stream (wire section 2.4): status, message and `grpc-status-details-bin`. */
export function trailersFrame(terminal: Terminal): Uint8Array {
  if (terminal.kind === "completed") return encodeFrame(FLAG_TRAILERS, Buffer.from("grpc-status: 0\r\n"));
  const { failure } = terminal;
  const status = STATUS[connectCode(failure.code)];
  const detail = Buffer.concat([
    wrapText([1], `type.googleapis.com/${ERROR_DETAILS_TYPE}`),
    wrap([2], errorDetails(failure)),
  ]);
  // google.rpc.Status: code 1, message 2, details 3
  const rich = Buffer.concat([Uint8Array.of(0x08, status), wrapText([2], failure.title), wrap([3], detail)]);
  const lines = [
    `grpc-status: ${status}`,
    `grpc-message: ${encodeURIComponent(failure.title.toWellFormed())}`,
    `grpc-status-details-bin: ${rich.toString("base64").replace(/=+$/, "")}`,
  ];
  return encodeFrame(FLAG_TRAILERS, Buffer.from(lines.map((line) => `${line}\r\n`).join("")));
}

/** Reads the payload of a trailers frame. */
export function decodeTrailers(payload: Uint8Array): Decoded<StreamEnd> {
  const fields = new Map<string, string>();
  for (const line of Buffer.from(payload).toString("latin1").split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const status = fields.get("grpc-status") ?? "";
  if (!/^\d{1,3}$/.test(status)) return err({ kind: "malformed", what: "gRPC-Web trailers" });
  if (Number(status) === 0) return ok({ kind: "completed" });
  const code = (Object.keys(STATUS) as ConnectCode[]).find((name) => STATUS[name] === Number(status)) ?? "unknown";
  const message = percentDecoded(fields.get("grpc-message") ?? "");
  return ok({ kind: "error", code, message, details: richDetails(fields.get("grpc-status-details-bin")) });
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function richDetails(base64: string | undefined): Extract<StreamEnd, { kind: "error" }>["details"] {
  const details = base64 === undefined ? [] : (fieldPayloads(Buffer.from(base64, "base64"), 3) ?? []);
  for (const detail of details) {
    const type = Buffer.from(fieldPayloads(detail, 1)?.[0] ?? []).toString();
    const value = fieldPayloads(detail, 2)?.[0];
    if (value === undefined || !type.endsWith(`/${ERROR_DETAILS_TYPE}`)) continue;
    try {
      return fromBinary(ErrorDetailsSchema, value);
    } catch {
      return undefined;
    }
  }
  return undefined;
}
