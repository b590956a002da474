import type { BlobId } from "./ids.ts";

/** A content-addressed value. */
export interface Blob {
  readonly id: BlobId;
  readonly data: Uint8Array;
}
