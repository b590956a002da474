import { createHash } from "node:crypto";
import type { Blob, BlobId } from "@chartroom/domain";

/** The content address of a value is its SHA-256 (wire section 8.1). */
export function blobOf(data: Uint8Array): Blob {
  return { id: createHash("sha256").update(data).digest("hex") as BlobId, data };
}
