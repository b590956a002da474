import { createHash } from "node:crypto";
import type { BlobId } from "@chartroom/domain";

/** Length of a blob id on the wire: the raw SHA-256 (wire section 8.1). */
export const BLOB_ID_BYTES = 32;

/** Content address of `data`: lower-case hex of its SHA-256. */
export function blobId(data: Uint8Array): BlobId {
  return createHash("sha256").update(data).digest("hex") as BlobId;
}

/** The id in its wire form, 32 raw bytes. */
export function blobIdBytes(id: BlobId): Uint8Array {
  return Buffer.from(id, "hex");
}

/** The id that 32 raw bytes stand for; `undefined` for any other length. */
export function blobIdOf(raw: Uint8Array): BlobId | undefined {
  if (raw.byteLength !== BLOB_ID_BYTES) return undefined;
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("hex") as BlobId;
}

/** Standard base64 with padding. */
export function toBase64(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

/** Bytes of a base64 text, standard or URL alphabet; characters outside it are skipped. */
export function fromBase64(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}
