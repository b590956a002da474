import type { RequestId } from "@chartroom/domain";
import { type BidiAppendRequest, BidiAppendRequestSchema } from "@chartroom/protocols/aiserver/v1/bidi_service";
import { BidiRequestIdSchema } from "@chartroom/protocols/aiserver/v1/shared";
import { decodeMessage } from "./decode.ts";
import { parseRequestId } from "./identity.ts";
import { type Decoded, err, ok } from "./result.ts";

/** One uplink message of a stream over HTTP/1.1. */
export interface Append {
  readonly requestId: RequestId;
  /** Order within the stream, from 0 or 1; a field that is not on the wire is 0. */
  readonly seqno: number;
  /** A serialized message; of the agent, unless the request id belongs to something else (speech to text). */
  readonly message: Uint8Array;
}

/** Reads the body of `BidiAppend` (wire section 3): a bare protobuf, `data` as hex or `data_binary` as it is. */
export function decodeAppend(body: Uint8Array): Decoded<Append> {
  const request = decodeMessage(BidiAppendRequestSchema, body);
  return request.ok ? fromAppendRequest(request.value) : request;
}

/** The same for a request that came in another form (JSON) and is decoded already. */
export function fromAppendRequest(request: BidiAppendRequest): Decoded<Append> {
  const requestId = parseRequestId(request.requestId?.requestId ?? "", "request_id");
  if (!requestId.ok) return requestId;
  if (request.appendSeqno < 0n || request.appendSeqno > BigInt(Number.MAX_SAFE_INTEGER)) {
    return err({ kind: "malformed", what: "append_seqno" });
  }
  const message = request.data === "" ? request.dataBinary : fromHex(request.data);
  if (message === undefined) return err({ kind: "malformed", what: "hex" });
  return ok({ requestId: requestId.value, seqno: Number(request.appendSeqno), message });
}

/** Reads the one message of a RunSSE request: `BidiRequestId`. */
export function decodeRequestId(message: Uint8Array): Decoded<RequestId> {
  const decoded = decodeMessage(BidiRequestIdSchema, message);
  return decoded.ok ? parseRequestId(decoded.value.requestId, "request_id") : decoded;
}

function fromHex(text: string): Uint8Array | undefined {
  // the decoder stops without a word at the first character that is not hex
  const bytes = Buffer.from(text, "hex");
  return bytes.byteLength * 2 === text.length ? bytes : undefined;
}
