import { fromBinary, toJson, type JsonValue } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ErrorDetailsSchema } from "@chartroom/protocols/aiserver";
import type { StreamDialect } from "../../support/gateway/agent-client.ts";
import { differences, Names } from "./compare.ts";

/** The last frame of a stream, as its bytes came. */
export interface LastFrame {
  readonly flags: number;
  readonly payload: Uint8Array;
}

/** The error of an example's end-of-stream frame. */
export interface ExampleError {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

/** An end as it stands in the bytes, in either dialect. */
interface RawEnd {
  readonly code: string;
  readonly message: string;
  readonly type: string;
  readonly details: Uint8Array;
}

/** Numbers of gRPC for the codes that the examples end with. */
const STATUS: Readonly<Record<string, string>> = { canceled: "1", unavailable: "14" };
/** `ErrorDetails.error` where an example's server gives no details and ours does (wire section 12). */
const REASON: Readonly<Record<string, string>> = { canceled: "ERROR_USER_ABORTED_REQUEST" };
/** Messages that a server writes itself; that of a provider's failure is the example's. */
const OWN_WORDS = new Set(["canceled"]);

/**
 * What is wrong with the last frame of a stream that ends as the example says; `example` absent: ends well. The bytes are read
 * here by hand, not with the product's decoders: a Connect end is JSON behind flag 2, one of gRPC-Web the text of its trailers
 * behind flag 128 with the same error in `grpc-status`, `grpc-message` and `grpc-status-details-bin`.
 */
export function endDifferences(
  dialect: StreamDialect,
  example: ExampleError | undefined,
  { flags, payload }: LastFrame,
): readonly string[] {
  const text = Buffer.from(payload).toString("latin1");
  if (flags !== (dialect === "connect" ? 2 : 128)) return [`the last frame has flags ${flags}`];
  if (example === undefined) {
    const well = dialect === "connect" ? "{}" : "grpc-status: 0\r\n";
    return text === well ? [] : [`ended ${text}`];
  }
  const ours = dialect === "connect" ? connectEnd(text) : trailersEnd(text);
  if (typeof ours === "string") return [ours];
  const code = dialect === "connect" ? example.code : STATUS[example.code];
  const same = OWN_WORDS.has(example.code)
    ? ours.message !== ""
    : ours.message.toLowerCase() === example.message.toLowerCase();
  return [
    ...(ours.code === code ? [] : [`code ${ours.code} instead of ${code}`]),
    ...(same ? [] : [`message ${ours.message} instead of ${example.message}`]),
    ...(ours.type === "aiserver.v1.ErrorDetails" ? [] : [`details of type ${ours.type}`]),
    ...detailsDifferences(example, ours.details),
  ];
}

function detailsDifferences({ code, details }: ExampleError, ours: Uint8Array): readonly string[] {
  const mine = toJson(ErrorDetailsSchema, fromBinary(ErrorDetailsSchema, ours));
  const shown = details?.[0];
  const example: JsonValue =
    shown === undefined
      ? { error: REASON[code] ?? "", isExpected: true }
      : toJson(ErrorDetailsSchema, fromBinary(ErrorDetailsSchema, Buffer.from(shown.value, "base64")));
  return differences(example, mine, new Names(), { has: () => false });
}

function connectEnd(text: string): RawEnd | string {
  const { error, ...more } = JSON.parse(text) as { error?: ExampleError };
  const [detail, ...others] = error?.details ?? [];
  if (error === undefined || detail === undefined || others.length > 0 || Object.keys(more).length > 0)
    return `ended ${text}`;
  // base64 without padding (wire section 12)
  if (!/^[A-Za-z0-9+/]+$/u.test(detail.value)) return `details are not plain base64: ${detail.value}`;
  return {
    code: error.code,
    message: error.message,
    type: detail.type,
    details: Buffer.from(detail.value, "base64"),
  };
}

function trailersEnd(text: string): RawEnd | string {
  if (!text.endsWith("\r\n")) return `trailers without an end of line: ${text}`;
  const lines = text.slice(0, -2).split("\r\n");
  const fields = new Map(lines.map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]));
  const names = ["grpc-status", "grpc-message", "grpc-status-details-bin"];
  if (lines.length !== 3 || names.some((name) => !fields.has(name))) return `trailers ${text}`;
  const code = fields.get("grpc-status") ?? "";
  const message = decodeURIComponent(fields.get("grpc-message") ?? "");
  // google.rpc.Status: code 1, message 2, details 3; google.protobuf.Any: type 1, value 2
  const status = fieldsOf(Buffer.from(fields.get("grpc-status-details-bin") ?? "", "base64"));
  const any = fieldsOf(status.get(3) as Uint8Array);
  if (String(status.get(1)) !== code || textOf(status.get(2)) !== message) return `two errors in one: ${text}`;
  return {
    code,
    message,
    type: textOf(any.get(1)).replace("type.googleapis.com/", ""),
    details: any.get(2) as Uint8Array,
  };
}

/** Numbers and byte fields of a message, by field number. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, number | Uint8Array> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, number | Uint8Array>();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    fields.set(field, type === WireType.Varint ? reader.int32() : reader.bytes());
  }
  return fields;
}

const textOf = (bytes: number | Uint8Array | undefined): string => Buffer.from((bytes ?? "") as Uint8Array).toString();
