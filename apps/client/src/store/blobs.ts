import type { BlobId } from "@chartroom/domain";
import { blobId, blobIdOf } from "@chartroom/protocol";
import fs from "node:fs/promises";
import path from "node:path";
import { readIfThere, writeAtomically } from "./files.ts";

export type PutOutcome = { readonly ok: true } | { readonly ok: false; readonly error: string };

/** The content-addressed store that the client owns (wire section 8.1): the id is the SHA-256 of the data. */
export class BlobStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Stores a blob under the id that the server gave; refuses data that does not hash to it. */
  async put(rawId: Uint8Array, data: Uint8Array): Promise<PutOutcome> {
    const id = blobIdOf(rawId);
    if (id === undefined) return { ok: false, error: "the blob id is not 32 bytes long" };
    if (blobId(data) !== id) return { ok: false, error: "the data does not hash to the blob id" };
    const file = this.#file(id);
    const known = await fs.stat(file).catch(() => undefined);
    if (known?.size === data.length) return { ok: true };
    try {
      await writeAtomically(file, data, false);
      return { ok: true };
    } catch (error) {
      return {
        ok: false,
        error: `the blob could not be stored (${(error as NodeJS.ErrnoException).code ?? "unknown"})`,
      };
    }
  }

  /** A blob's data, or undefined when there is none or what is there does not hash to its id. */
  async get(rawId: Uint8Array): Promise<Uint8Array | undefined> {
    const id = blobIdOf(rawId);
    if (id === undefined) return undefined;
    const file = this.#file(id);
    const data = await readIfThere(file).catch(() => undefined);
    if (data === undefined || blobId(data) === id) return data;
    await fs.rm(file, { force: true });
    return undefined;
  }

  #file(id: BlobId): string {
    return path.join(this.#folder, id.slice(0, 2), id);
  }
}
