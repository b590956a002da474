import {
  adopt,
  appendResults,
  continuedBlobs,
  decodeCheckpoint,
  isOn,
  type PlainHistory,
  type Outline,
  readPlainHistory,
  readState,
  referencedBlobs,
  relate,
  type Relation,
  type Said,
  type Branch,
  type Imported,
} from "@chartroom/history";
import type {
  Barrier,
  Blob,
  BlobId,
  CanonicalMessage,
  CheckpointId,
  FailureCode,
  HistoryRelation,
} from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { mergeBarriers } from "../activation/merge-barriers.ts";

export type Imports =
  /** `stale`: the client gets our head first. */
  | { readonly ok: true; readonly barrier: Barrier; readonly stale: boolean; readonly relation: HistoryRelation }
  | { readonly ok: false; readonly code: FailureCode };

/** Blobs of the client's store; waits for a transport. */
export interface ClientBlobs {
  get(id: BlobId): Promise<Uint8Array | undefined>;
}

/** What a restored Run had brought in before its node died: the head stands behind it. */
export function hasBegun({ history }: Activation, { row, restored }: LiveRun): boolean {
  return restored && [...history.chain.nodes.values()].some(({ runId }) => runId === row.runId);
}

/** Puts the head where the client stands: goes on, branches, or takes in a history that this server does not have. */
export async function takeClientState(activation: Activation, run: LiveRun, client: ClientBlobs): Promise<Imports> {
  const { request } = run;
  const { history, wire, deps, lease } = activation;
  const read = readState(request.state);
  if (!read.ok) return { ok: false, code: "HISTORY_INVALID" };
  holdNamed(activation, read.outline);
  const plain = plainHistoryOf(run);
  if (plain === "malformed") return { ok: false, code: "HISTORY_INVALID" };
  if (plain) return takeMessages(activation, run, plain.messages, plain.blobs);
  if (read.outline.empty && isLiveAction(activation, run)) return stands("continue");
  const relation = standingOf(activation, run, read.outline);
  switch (relation.kind) {
    case "new":
      wire.state = stateOf(run);
      return stands("new");
    case "continue":
      // the client may have changed what is its own: to-dos, plans, unknown fields
      if (!relation.shrunk) wire.state = stateOf(run);
      return stands(relation.shrunk ? "shrunk" : "continue");
    case "stale":
      return { ...stands("stale"), stale: true };
    case "rewind":
      await history.moveTo(deps.store, lease, relation.base);
      wire.state = stateOf(run);
      wire.head = undefined;
      return stands("rewind");
    case "foreign":
      return takeForeign(activation, run, client);
  }
}

/** A resume says nothing new: a client that goes on with an older state of this branch lost the newer one, and gets it. */
function standingOf(activation: Activation, run: LiveRun, outline: Outline): Relation {
  const { chain, view } = activation.history;
  const relation = relate(outline, chain, view.head, saidIn(activation, run));
  const { head } = view;
  if (run.request.action.kind !== "resume" || relation.kind !== "rewind" || head === undefined) return relation;
  const onBranch = relation.base === undefined || isOn(chain, head, relation.base);
  return onBranch ? { kind: "stale", base: head, from: relation.base } : relation;
}

/** An action on a live stream brings no state: it is meant for where the conversation is, not for its beginning. */
function isLiveAction({ deps }: Activation, run: LiveRun): boolean {
  const opener = deps.codec.decodeUplink(run.row.request);
  return opener.ok && opener.value.kind === "action";
}

/** Nothing to bring in: the head stays where it is. */
export const stands = (relation: HistoryRelation): Extract<Imports, { ok: true }> => ({
  ok: true,
  barrier: {},
  stale: false,
  relation,
});

async function takeForeign(activation: Activation, run: LiveRun, client: ClientBlobs): Promise<Imports> {
  const { state } = run.request;
  const decoded = await decodeAll(activation, state, client);
  if ("code" in decoded) return { ok: false, code: decoded.code };
  const { wire } = activation;
  // the last turn as the client has it is what the next state goes on from
  const last = await readTurn(activation, state, client);
  holdNamed(activation, decoded.value.outline);
  for (const id of decoded.fetched) if (!last.has(id)) wire.blobs.delete(id);
  return takeMessages(activation, run, decoded.value.messages, decoded.value.blobs);
}

/** A client holds all that its own state names, what the turns at hand name included. */
function holdNamed({ wire }: Activation, outline: Outline): void {
  if (wire.isGiven(outline.bytes)) return;
  for (const id of referencedBlobs(outline, (turn) => wire.blobs.get(turn))) wire.hold(id);
}

/** The last turn of a state and its user message, as far as they can be had; gives their ids. */
async function readTurn(activation: Activation, state: Uint8Array, client: ClientBlobs): Promise<ReadonlySet<BlobId>> {
  const { wire, deps, member } = activation;
  for (;;) {
    const wanted = continuedBlobs(state, (id) => wire.blobs.get(id));
    const missing = [...wanted].filter((id) => !wire.blobs.has(id));
    if (missing.length === 0) return wanted;
    const stored = await deps.store.blobs(member, missing);
    for (const id of missing) {
      const data = stored.get(id) ?? (await client.get(id));
      if (data === undefined || deps.codec.blobId(data) !== id) return wanted;
      wire.blobs.set(id, data);
      wire.hold(id);
    }
  }
}

/** Adopts what the client says: what we have stays ours, what differs becomes a branch, nothing is dropped. */
async function takeMessages(
  activation: Activation,
  run: LiveRun,
  messages: readonly CanonicalMessage[],
  blobs: readonly Blob[],
): Promise<Imports> {
  const { history, wire, deps, lease } = activation;
  const head = history.view.head;
  const branches: readonly Branch[] =
    head === undefined ? [] : [{ head, messages: await deps.store.messages(lease, head) }];
  const adoption = adopt(messages, history.chain, head, branches, saidIn(activation, run));
  const known = new Map(
    [...branches.flatMap((branch) => branch.messages), ...adoption.messages].map((message) => [message.id, message]),
  );
  const [first] = adoption.nodes;
  await history.moveTo(deps.store, lease, first ? first.parent : adoption.base);
  const rows = adoption.nodes.map((node) =>
    history.extend(
      node,
      node.added.flatMap((id) => known.get(id) ?? []),
      node === adoption.nodes.at(-1) ? adoption.anchors : [],
    ),
  );
  if (adoption.kind === "branch" || adoption.kind === "import" || adoption.kind === "rewind") {
    wire.state = stateOf(run);
    wire.head = undefined;
  }
  const settled =
    adoption.settle.length > 0 ? history.append(appendResults(history.place(run.row.runId), adoption.settle)) : {};
  // rows that stand already are not written again
  const written = rows.map((row) => ({
    ...row,
    messages: (row.messages ?? []).filter((message) => adoption.messages.includes(message)),
  }));
  const moved = history.view.head === undefined ? {} : { head: history.view.head };
  const barrier = mergeBarriers({ blobs }, ...written, settled, moved);
  return { ok: true, barrier, stale: adoption.kind === "stale", relation: adoption.kind };
}

/** The client's own state, which the next one goes on from; an empty one says nothing. */
const stateOf = (run: LiveRun): Uint8Array | undefined =>
  run.request.state.length > 0 ? run.request.state : undefined;

/** What came with the state: an edit of its message is a branch, whatever was delivered, and what was delivered later is unseen. */
function saidIn(activation: Activation, run: LiveRun): Said {
  const { action } = run.request;
  const unseen = run.restored ? endedSince(activation, run) : activation.deliveries.since(run.heard);
  return { message: "message" in action ? action.message : undefined, unseen };
}

/** A Run that waited when its node died was asked for before the checkpoints of those that ended meanwhile. */
function endedSince({ stored, history }: Activation, { row }: LiveRun): ReadonlySet<CheckpointId> {
  const ended = new Set(stored.runs.filter(({ endedAt = 0 }) => endedAt >= row.acceptedAt).map(({ runId }) => runId));
  const nodes = [...history.chain.nodes.values()];
  return new Set(nodes.flatMap((node) => (node.runId !== undefined && ended.has(node.runId) ? [node.id] : [])));
}

/** Plain messages of a client that keeps no blobs; they stand for its whole history. */
function plainHistoryOf(run: LiveRun): PlainHistory | "malformed" | undefined {
  const { action } = run.request;
  if (action.kind !== "userMessage" || !action.plainHistory || action.plainHistory.length === 0) return undefined;
  return readPlainHistory(action.plainHistory) ?? "malformed";
}

async function decodeAll(
  activation: Activation,
  state: Uint8Array,
  client: ClientBlobs,
): Promise<{ readonly value: Imported; readonly fetched: ReadonlySet<BlobId> } | { readonly code: FailureCode }> {
  const { wire, deps, member } = activation;
  const fetched = new Set<BlobId>();
  for (;;) {
    const result = decodeCheckpoint(state, (id) => wire.blobs.get(id));
    if (result.ok) return { value: result.value, fetched };
    if (result.kind !== "missing") return { code: result.kind === "mismatch" ? "BLOB_INVALID" : "HISTORY_INVALID" };
    const stored = await deps.store.blobs(member, result.blobs);
    for (const [id, data] of stored) {
      wire.blobs.set(id, data);
      fetched.add(id);
    }
    const wanted = result.blobs.filter((id) => !stored.has(id));
    const got = await Promise.all(wanted.map(async (id) => [id, await client.get(id)] as const));
    for (const [id, data] of got) {
      if (data === undefined) return { code: "BLOB_MISSING" };
      if (deps.codec.blobId(data) !== id) return { code: "BLOB_INVALID" };
      wire.blobs.set(id, data);
      wire.hold(id);
      fetched.add(id);
    }
  }
}
