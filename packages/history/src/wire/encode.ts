import { agent, blobIdOf, create, toBinary } from "@chartroom/protocol";
import type { AgentMode, Blob, BlobId, CanonicalMessage, HistoryId } from "@chartroom/domain";
import { utf8Bytes } from "../digest.ts";
import { importedFrom } from "../ids.ts";
import type { HeadView } from "../view.ts";
import { type TokenDetails, tokenDetailsMessage } from "./details.ts";
import { openRound, pendingCallIds, pendingJson, type PendingMarks, plainContract } from "./pending.ts";
import { type BlobLookup, rootJson, systemJson } from "./root.ts";
import { EMPTY_OUTLINE, makeBlob, type Outline, rawId, readState, writeState, type WireState } from "./state.ts";
import { encodeTurns, modeNumber } from "./turns.ts";

export interface EncodeInput {
  /** The compiled system text: index 0, the one entry that may change. */
  readonly system: string;
  readonly view: Pick<HeadView, "messages" | "summary">;
  /**
   * The state that this one goes on from: the last one of the same branch, or the client's own after `relate`. All its other
   * fields are kept, unknown ones too, and what it has already is not encoded again.
   */
  readonly previous?: Uint8Array;
  /** Pictures of new messages (`imagesOf`), the blob of the previous state's last turn and of that turn's user message. */
  readonly blob: BlobLookup;
  readonly mode: AgentMode;
  /** Serialized `UserMessage`s as the client sent them, by the id of their canonical message; those of the current Run. */
  readonly userMessages?: ReadonlyMap<HistoryId, Uint8Array>;
  readonly requestId?: string;
  /** Of the open round, if there is one. */
  readonly pending?: PendingMarks;
  readonly tokens?: TokenDetails;
  /** Encode in spite of blobs that nobody has: pictures become notes, the last turn is written from history. */
  readonly without?: boolean;
}

export type EncodeResult =
  | {
      readonly ok: true;
      /** Serialized `ConversationStateStructure`. */
      readonly state: Uint8Array;
      /** Blobs that are new against `previous`; they go to the client before the state does. */
      readonly blobs: readonly Blob[];
      /** The raw id of the last turn. */
      readonly lastTurn: Uint8Array | undefined;
      /** The root prompt messages were written anew instead of being appended to. */
      readonly rewritten: boolean;
    }
  /** Give these to `blob`, or set `without`. */
  | { readonly ok: false; readonly kind: "missing"; readonly blobs: readonly BlobId[] }
  | { readonly ok: false; readonly kind: "malformed" };

/**
 * The client's checkpoint of a branch head. An open round at its end stands in `pending_tool_calls` and joins the root
 * prompt messages when it is settled. Cost: what is new, and one copy of the id lists.
 */
export function encodeCheckpoint(input: EncodeInput): EncodeResult {
  const read = input.previous === undefined ? undefined : readState(input.previous);
  if (read?.ok === false) return { ok: false, kind: "malformed" };
  const before = read?.outline ?? EMPTY_OUTLINE;
  const { messages } = input.view;
  const round = openRound(messages);
  const closed = round === undefined ? messages : messages.slice(0, round.at);

  const missing = new Set<BlobId>();
  const blobs: Blob[] = [...before.inline];
  const had = before.state.rootPromptMessagesJson;
  const system = makeBlob(utf8Bytes(systemJson(input.system)));
  if (had[0] === undefined || blobIdOf(had[0]) !== system.id) blobs.push(system);
  const covered = coveredBy(had, closed, input.view, input.blob);
  const roots = covered === undefined || had.length === 0 ? [rawId(system.id)] : had.with(0, rawId(system.id));
  for (const message of closed.slice(covered ?? 0)) {
    const root = rootOf(message, input.blob, missing);
    if (root === undefined) continue;
    roots.push(rawId(root.id));
    if ("data" in root) blobs.push(root);
  }

  const turns = encodeTurns({
    before: before.state.turns,
    messages: closed,
    covered: covered ?? 0,
    compacted: input.view.summary !== undefined,
    info: {
      userMessages: input.userMessages ?? new Map(),
      ...(input.requestId === undefined ? {} : { requestId: input.requestId }),
      mode: input.mode,
    },
    blob: input.blob,
    without: input.without === true,
  });
  for (const id of turns.missing) missing.add(id);
  if (missing.size > 0 && input.without !== true) return { ok: false, kind: "missing", blobs: [...missing] };
  blobs.push(...turns.blobs);

  const state: WireState = {
    ...before.state,
    rootPromptMessagesJson: roots,
    turns: [...turns.turns],
    mode: modeNumber(input.mode),
    pendingToolCalls: round === undefined ? [] : pendingOf(before.pending, round.record, input.pending),
    ...(input.tokens === undefined ? {} : { tokenDetails: tokenDetailsMessage(input.tokens) }),
  };
  noteCompaction(state, before, input, blobs);
  return {
    ok: true,
    state: writeState(state),
    blobs: unique(blobs),
    lastTurn: state.turns.at(-1),
    rewritten: covered === undefined && before.roots.length > 1,
  };
}

/** A message's root prompt message: the blob it was imported from, or its JSON; `undefined` for a further part of an imported one. */
function rootOf(
  message: CanonicalMessage,
  blob: BlobLookup,
  missing: Set<BlobId>,
): Blob | { readonly id: BlobId } | undefined {
  const imported = importedFrom(message.id);
  if (imported !== undefined) return imported.part === 0 ? { id: imported.blob } : undefined;
  return makeBlob(utf8Bytes(rootJson(message, blob, missing)));
}

/**
 * How many of the messages the previous state has already; `undefined` when it is not of this branch. Judged by their number
 * and by the first, the last and the summary among them: a branch differs at its end, a compaction at its beginning.
 */
function coveredBy(
  roots: readonly Uint8Array[],
  messages: readonly CanonicalMessage[],
  view: EncodeInput["view"],
  blob: BlobLookup,
): number | undefined {
  const wanted = Math.max(0, roots.length - 1);
  const placeOf = new Map<CanonicalMessage, number>();
  let entries = 0;
  let at = 0;
  let first: CanonicalMessage | undefined;
  let last: CanonicalMessage | undefined;
  for (; at < messages.length; at += 1) {
    const message = messages[at];
    if (message === undefined) break;
    const further = message.id.startsWith("imported:") && importedFrom(message.id)?.part !== 0;
    if (further) continue;
    if (entries === wanted) break;
    entries += 1;
    first ??= message;
    last = message;
    if (message === first || message.id === view.summary || entries === wanted) placeOf.set(message, entries);
  }
  if (entries < wanted) return undefined;
  if (last === undefined) return 0;
  if (view.summary !== undefined && ![...placeOf.keys()].some((message) => message.id === view.summary))
    return undefined;
  for (const [message, place] of placeOf) {
    const root = roots[place];
    if (root === undefined || rootOf(message, blob, new Set())?.id !== blobIdOf(root)) return undefined;
  }
  return at;
}

/** The pending string of the round: the one that the state has already, start time and contracts included, or a new one. */
function pendingOf(
  before: readonly string[],
  record: Parameters<typeof pendingJson>[0],
  marks: PendingMarks | undefined,
): string[] {
  const calls = record.calls.map((call): string => call.id);
  const known = new Set(before.flatMap(pendingCallIds));
  if (calls.every((id) => known.has(id)) && known.size === calls.length) return [...before];
  return [pendingJson(record, marks ?? { startedAtMs: 0, contract: plainContract })];
}

/** The first state after a compaction holds its summary and an archive of what it replaced (wire section 8.5). */
function noteCompaction(state: WireState, before: Outline, input: EncodeInput, blobs: Blob[]): void {
  const { summary: id, messages } = input.view;
  const message = id === undefined ? undefined : messages.find((candidate) => candidate.id === id);
  if (message === undefined) return;
  const parts = message.content.kind === "parts" ? message.content.parts : [];
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const summary = makeBlob(
    toBinary(agent.ConversationSummarySchema, create(agent.ConversationSummarySchema, { summary: text })),
  );
  if (before.state.summary !== undefined && blobIdOf(before.state.summary) === summary.id) return;
  const now = new Set(state.rootPromptMessagesJson.map(blobIdOf));
  const replaced = before.roots.slice(1).filter((root) => !now.has(root));
  const summaryRoot = rootOf(message, input.blob, new Set());
  const archive = makeBlob(
    toBinary(
      agent.ConversationSummaryArchiveSchema,
      create(agent.ConversationSummaryArchiveSchema, {
        summarizedMessages: replaced.map(rawId),
        summary: text,
        windowTail: Math.max(0, before.roots.length - 1 - replaced.length),
        ...(summaryRoot === undefined ? {} : { summaryMessage: rawId(summaryRoot.id) }),
      }),
    ),
  );
  blobs.push(summary, archive);
  state.summary = rawId(summary.id);
  state.summaryArchives = [...state.summaryArchives, rawId(archive.id)];
  state.selfSummaryCount += 1;
}

function unique(blobs: readonly Blob[]): readonly Blob[] {
  return [...new Map(blobs.map((blob) => [blob.id, blob])).values()];
}
