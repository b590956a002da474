import type {
  BlobId,
  ClientCodec,
  ConversationId,
  ExecReply,
  RequestContext,
  Result,
  UplinkMessage,
} from "@chartroom/domain";
import { blobId, blobIdBytes } from "./blob.ts";
import { wrap } from "./bytes.ts";
import { fromWireContext } from "./request-context.ts";
import { ok, type WireError, wireFailure } from "./result.ts";
import { encodeServerMessage, encodeUpdate } from "./update.ts";
import { decodeUplink, execClientMessage } from "./uplink.ts";

const CHECKPOINT = 3;

/** The wire for the conversation, which knows none of it. */
export const clientCodec: ClientCodec = {
  update: encodeUpdate,
  blobId,
  setBlob: (kvId: number, blob: BlobId, data: Uint8Array) =>
    encodeServerMessage({
      message: {
        case: "kvServerMessage",
        value: { id: kvId, message: { case: "setBlobArgs", value: { blobId: blobIdBytes(blob), blobData: data } } },
      },
    }),
  getBlob: (kvId: number, blob: BlobId) =>
    encodeServerMessage({
      message: {
        case: "kvServerMessage",
        value: { id: kvId, message: { case: "getBlobArgs", value: { blobId: blobIdBytes(blob) } } },
      },
    }),
  abort: (execId: number) =>
    encodeServerMessage({
      message: {
        case: "execServerControlMessage",
        value: { message: { case: "abort", value: { id: execId } } },
      },
    }),
  requestContext: (execId: number, conversationId: ConversationId) =>
    encodeServerMessage({
      message: {
        case: "execServerMessage",
        value: {
          id: execId,
          execId: `request-context-${execId}`,
          message: { case: "requestContextArgs", value: { notesSessionId: conversationId } },
        },
      },
    }),
  // the state goes out as it was made: a checkpoint is never decoded on its way
  checkpoint: (state: Uint8Array) => wrap([CHECKPOINT], state),
  decodeRequestContext,
  decodeUplink: (raw: Uint8Array): Result<UplinkMessage> => told(decodeUplink(raw)),
};

function decodeRequestContext(reply: ExecReply): Result<RequestContext> {
  const { message } = execClientMessage(reply);
  const result = message.case === "requestContextResult" ? message.value.result : undefined;
  if (result?.case === "success" && result.value.requestContext !== undefined) {
    return ok(fromWireContext(result.value.requestContext));
  }
  const detail =
    result?.case === "rejected" ? "The client does not give its context." : "The client could not give its context.";
  return { ok: false, error: { code: "PREPARE_FAILED", title: "No context", detail, retryable: true } };
}

function told<T>(result: Result<T, WireError>): Result<T> {
  return result.ok ? result : { ok: false, error: wireFailure(result.error) };
}
