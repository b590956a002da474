import type { BlobContent, BlobId } from "@chartroom/domain";
import { blobId, blobIdOf } from "./blob.ts";

/**
 * A blob that a client sent ahead (wire section 4.3, field 17). Clients differ in which field holds the digest,
 * so it is the one that the other hashes to; `undefined` when neither does.
 */
export function prefetchedBlob(first: Uint8Array, second: Uint8Array): BlobContent | undefined {
  return verified(first, second) ?? verified(second, first);
}

/** Parses the hex form of a blob id, as the store and the command line write it. */
export function parseBlobId(text: string): BlobId | undefined {
  return /^[0-9a-f]{64}$/.test(text) ? (text as BlobId) : undefined;
}

function verified(digest: Uint8Array, data: Uint8Array): BlobContent | undefined {
  const claimed = blobIdOf(digest);
  return claimed !== undefined && claimed === blobId(data) ? { id: claimed, data } : undefined;
}
