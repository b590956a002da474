import { blobId } from "@chartroom/protocol";
import type { Blob, BlobId, CanonicalMessage } from "@chartroom/domain";
import { importedId } from "../ids.ts";
import type { Problem } from "../problem.ts";
import { readPending } from "./pending.ts";
import { readRoot } from "./read-root.ts";
import type { BlobLookup } from "./root.ts";
import { type Outline, readState } from "./state.ts";
import { readTurns } from "./read-turns.ts";

/** What a client's state says, with its blobs. */
export interface Imported {
  readonly outline: Outline;
  /** Root first; a client's own system texts are its first messages, the compiled system text is not among them. An open round stands last. */
  readonly messages: readonly CanonicalMessage[];
  /** To be stored with the messages: pictures that stood in them, and content that stood where an id is expected. */
  readonly blobs: readonly Blob[];
  readonly problems: readonly Problem[];
  /** Where the messages came from. `turns`: the state had no root prompt messages, so the shown turns were read. */
  readonly from: "roots" | "turns" | "nothing";
}

export type DecodeResult =
  | { readonly ok: true; readonly value: Imported }
  /** Fetch these and decode again; more may be named then, because turns name blobs of their own. */
  | { readonly ok: false; readonly kind: "missing"; readonly blobs: readonly BlobId[] }
  /** The content is not what its id says: the state is refused. */
  | { readonly ok: false; readonly kind: "mismatch"; readonly blobs: readonly BlobId[] }
  | { readonly ok: false; readonly kind: "malformed" };

/** Reads a client's state into canonical messages. Every blob is checked against its id; nothing is changed by a refusal. */
export function decodeCheckpoint(state: Uint8Array, blob: BlobLookup): DecodeResult {
  const read = readState(state);
  if (!read.ok) return { ok: false, kind: "malformed" };
  const { outline } = read;
  const inline = new Map(outline.inline.map((entry) => [entry.id, entry.data]));
  const missing = new Set<BlobId>();
  const wrong = new Set<BlobId>();
  const get: BlobLookup = (id) => {
    const data = inline.get(id) ?? blob(id);
    if (data === undefined) missing.add(id);
    else if (!inline.has(id) && blobId(data) !== id) wrong.add(id);
    else return data;
    return undefined;
  };

  const blobs = new Map<BlobId, Blob>(outline.inline.map((entry) => [entry.id, entry]));
  const messages: CanonicalMessage[] = [];
  const problems: Problem[] = [];
  for (const [position, id] of outline.roots.entries()) {
    const data = get(id);
    if (data === undefined) continue;
    const root = readRoot(new TextDecoder().decode(data), id, position);
    messages.push(...root.messages);
    problems.push(...root.problems);
    for (const image of root.images) blobs.set(image.id, image);
  }
  let from: Imported["from"] = messages.some((message) => message.role !== "system") ? "roots" : "nothing";
  if (from === "nothing" && missing.size === 0 && wrong.size === 0 && outline.turns.length > 0) {
    from = "turns";
    messages.push(...readTurns(outline.turns, get, blobs));
  }
  if (wrong.size > 0) return { ok: false, kind: "mismatch", blobs: [...wrong] };
  if (missing.size > 0) return { ok: false, kind: "missing", blobs: [...missing] };

  const settled = new Set(
    messages.flatMap(({ content }) => (content.kind === "toolResult" ? [String(content.result.callId)] : [])),
  );
  const pending = readPending(outline.pending, settled, outline.roots.length);
  if (pending.message !== undefined) messages.push(pending.message);
  const place = pending.message?.id ?? importedId(outline.roots.length, "" as BlobId);
  for (const kind of pending.problems) problems.push({ kind, message: place });
  return { ok: true, value: { outline, messages, blobs: [...blobs.values()], problems, from } };
}
