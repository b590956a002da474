import {
  agent,
  BLOB_ID_BYTES,
  blobId,
  blobIdBytes,
  blobIdOf,
  create,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@chartroom/protocol";
import type { Blob, BlobId } from "@chartroom/domain";

export type WireState = MessageShape<typeof agent.ConversationStateStructureSchema>;

/** A client's state as far as it can be read without its blobs. */
export interface Outline {
  /** As it came; empty when it was not read from bytes. */
  readonly bytes: Uint8Array;
  readonly state: WireState;
  /** Ids of the root prompt messages, system text first. */
  readonly roots: readonly BlobId[];
  /** Ids of the turns. */
  readonly turns: readonly BlobId[];
  readonly pending: readonly string[];
  /** Content that stood where an id is expected (wire section 8.1); its ids are in `roots` and `turns`. */
  readonly inline: readonly Blob[];
  /** A new chat: no root prompt message, no turn, no pending call. */
  readonly empty: boolean;
}

export type OutlineResult =
  | { readonly ok: true; readonly outline: Outline }
  | { readonly ok: false; readonly reason: "malformed" };

/** Reads a serialized `ConversationStateStructure`; an empty one is a new chat. */
export function readState(bytes: Uint8Array): OutlineResult {
  try {
    return { ok: true, outline: outlineOf(fromBinary(agent.ConversationStateStructureSchema, bytes), bytes) };
  } catch {
    return { ok: false, reason: "malformed" };
  }
}

function outlineOf(read: WireState, bytes: Uint8Array): Outline {
  const inline: Blob[] = [];
  // a state of one's own has an id everywhere, and is not copied
  const rooted = withIds(read.rootPromptMessagesJson, inline);
  const turned = withIds(read.turns, inline);
  const state = inline.length === 0 ? read : { ...read, rootPromptMessagesJson: rooted, turns: turned };
  let roots: readonly BlobId[] | undefined;
  let turns: readonly BlobId[] | undefined;
  return {
    bytes,
    state,
    get roots() {
      roots ??= rooted.map(idOf);
      return roots;
    },
    get turns() {
      turns ??= turned.map(idOf);
      return turns;
    },
    pending: state.pendingToolCalls,
    inline,
    empty: rooted.length === 0 && turned.length === 0 && state.pendingToolCalls.length === 0,
  };
}

/** The entries with ids instead of content. */
function withIds(entries: Uint8Array[], inline: Blob[]): Uint8Array[] {
  if (entries.every((raw) => raw.byteLength === BLOB_ID_BYTES)) return entries;
  return entries.map((raw) => {
    if (raw.byteLength === BLOB_ID_BYTES) return raw;
    const blob = makeBlob(raw);
    inline.push(blob);
    return rawId(blob.id);
  });
}

function idOf(raw: Uint8Array): BlobId {
  return blobIdOf(raw) ?? blobId(raw);
}

export const EMPTY_OUTLINE: Outline = outlineOf(create(agent.ConversationStateStructureSchema), new Uint8Array());

export function writeState(state: WireState): Uint8Array {
  return toBinary(agent.ConversationStateStructureSchema, state);
}

/** Every blob that a state names: the direct ones, and what the turns that `blob` knows name in their turn. */
export function referencedBlobs(outline: Outline, blob: (id: BlobId) => Uint8Array | undefined): readonly BlobId[] {
  const found = new Set<BlobId>([...outline.roots, ...outline.turns]);
  const add = (raw: Uint8Array | undefined) => {
    const id = raw === undefined ? undefined : blobIdOf(raw);
    if (id !== undefined) found.add(id);
  };
  const { state } = outline;
  for (const raw of [...state.todos, ...state.summaryArchives]) add(raw);
  for (const raw of [state.summary, state.plan, state.summaryArchive]) add(raw);
  for (const file of Object.values(state.fileStatesV2)) {
    add(file.content);
    add(file.initialContent);
  }
  for (const raw of [...Object.values(state.fileStates), ...Object.values(state.subagentStateRefs)]) add(raw);
  for (const turn of outline.turns) {
    const data = blob(turn);
    const read = data === undefined ? undefined : readTurn(data);
    if (read === undefined) continue;
    for (const raw of [read.userMessage, ...read.steps]) add(raw);
  }
  return [...found];
}

export type AgentTurn = MessageShape<typeof agent.AgentConversationTurnStructureSchema>;

/** The agent turn in a turn's blob; `undefined` for a shell turn and for what is no turn. */
export function readTurn(data: Uint8Array): AgentTurn | undefined {
  try {
    const { turn } = fromBinary(agent.ConversationTurnStructureSchema, data);
    return turn.case === "agentConversationTurn" ? turn.value : undefined;
  } catch {
    return undefined;
  }
}

/** Blobs of a state that the next one goes on from: its last turn, and that turn's user message. */
export function continuedBlobs(state: Uint8Array, blob: (id: BlobId) => Uint8Array | undefined): ReadonlySet<BlobId> {
  const read = readState(state);
  return turnBlobs(read.ok ? read.outline.state.turns.at(-1) : undefined, blob);
}

/** A turn by its raw id, and its user message. */
export function turnBlobs(
  raw: Uint8Array | undefined,
  blob: (id: BlobId) => Uint8Array | undefined,
): ReadonlySet<BlobId> {
  const id = raw === undefined ? undefined : blobIdOf(raw);
  if (id === undefined) return new Set();
  const data = blob(id);
  const said = data === undefined ? undefined : readTurn(data)?.userMessage;
  const message = said === undefined ? undefined : blobIdOf(said);
  return new Set(message === undefined ? [id] : [id, message]);
}

export function makeBlob(data: Uint8Array): Blob {
  return { id: blobId(data), data };
}

export const rawId = (id: BlobId): Uint8Array => blobIdBytes(id);
