import { create } from "@bufbuild/protobuf";
import {
  GetBlobResultSchema,
  type KvClientMessage,
  KvClientMessageSchema,
  type KvServerMessage,
  SetBlobResultSchema,
} from "@chartroom/protocols/agent";
import type { BlobStore } from "../store/blobs.ts";

/** Answers a question to the client's blob store (wire section 8.1); undefined for a kind that is not known. */
export async function answerKv(
  { id, message }: KvServerMessage,
  blobs: BlobStore,
): Promise<KvClientMessage | undefined> {
  switch (message.case) {
    case "getBlobArgs": {
      const blobData = await blobs.get(message.value.blobId);
      // a blob that is not there is an answer without data
      const value = create(GetBlobResultSchema, blobData === undefined ? {} : { blobData });
      return create(KvClientMessageSchema, { id, message: { case: "getBlobResult", value } });
    }
    case "setBlobArgs": {
      const put = await blobs.put(message.value.blobId, message.value.blobData);
      const value = create(SetBlobResultSchema, put.ok ? {} : { error: { message: put.error } });
      return create(KvClientMessageSchema, { id, message: { case: "setBlobResult", value } });
    }
    case undefined:
      return undefined;
  }
}
