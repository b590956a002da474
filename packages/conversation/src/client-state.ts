import {
  adopt,
  append,
  appendResults,
  decodeCheckpoint,
  readState,
  relate,
  type Branch,
  type Imported,
} from "@chartroom/history";
import type { Barrier, BlobId, FailureCode } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import type { LiveRun } from "./live-run.ts";
import { mergeBarriers } from "./merge-barriers.ts";

export type Imports =
  | { readonly ok: true; readonly barrier: Barrier; readonly stale: boolean }
  | { readonly ok: false; readonly code: FailureCode };

/** Blobs of the client's store; waits for a transport. */
export interface ClientBlobs {
  get(id: BlobId): Promise<Uint8Array | undefined>;
}

/** Puts the head where the client stands: goes on, branches, or takes in a history that this server does not have. */
export async function takeClientState(activation: Activation, run: LiveRun, client: ClientBlobs): Promise<Imports> {
  const { request } = run;
  const { history, wire, deps, lease } = activation;
  for (const blob of request.prefetched) {
    wire.blobs.set(blob.id, blob.data);
    wire.hold(blob.id);
  }
  const read = readState(request.state);
  if (!read.ok) return { ok: false, code: "HISTORY_INVALID" };
  for (const id of [...read.outline.roots, ...read.outline.turns]) wire.hold(id);
  const relation = relate(read.outline, history.chain, history.view.head);
  switch (relation.kind) {
    case "new":
      return { ok: true, barrier: {}, stale: false };
    case "continue":
      // the client may have changed what is its own: to-dos, plans, unknown fields
      wire.state = request.state;
      return { ok: true, barrier: {}, stale: false };
    case "stale":
      return { ok: true, barrier: {}, stale: relation.from !== undefined || history.view.head !== undefined };
    case "rewind":
      await history.moveTo(deps.store, lease, relation.base);
      wire.state = undefined;
      wire.head = undefined;
      return { ok: true, barrier: {}, stale: false };
    case "foreign":
      return takeForeign(activation, run, client);
  }
}

async function takeForeign(activation: Activation, run: LiveRun, client: ClientBlobs): Promise<Imports> {
  const { history, wire, deps, lease } = activation;
  const decoded = await decodeAll(activation, run.request.state, client);
  if ("code" in decoded) return { ok: false, code: decoded.code };
  const { messages, blobs } = decoded.value;
  const head = history.view.head;
  if (head === undefined) {
    wire.state = run.request.state;
    const fresh = append(history.place(run.row.runId), messages);
    return { ok: true, barrier: { ...history.append(fresh), blobs }, stale: false };
  }
  const branch: Branch = { head, messages: await deps.store.messages(lease, head) };
  const adoption = adopt(messages, history.chain, head, [branch]);
  const known = new Map([...branch.messages, ...adoption.messages].map((message) => [message.id, message]));
  await history.moveTo(deps.store, lease, adoption.nodes[0]?.parent ?? adoption.base);
  const rows = adoption.nodes.map((node) =>
    history.extend(
      node,
      node.added.flatMap((id) => known.get(id) ?? []),
    ),
  );
  if (adoption.kind === "branch" || adoption.kind === "import" || adoption.kind === "rewind") {
    wire.state = run.request.state;
    wire.head = undefined;
  }
  const settled =
    adoption.settle.length > 0 ? history.append(appendResults(history.place(run.row.runId), adoption.settle)) : {};
  // rows that stand already are not written again
  const written = rows.map((row) => ({
    ...row,
    messages: (row.messages ?? []).filter((message) => adoption.messages.includes(message)),
  }));
  return {
    ok: true,
    barrier: mergeBarriers(
      { blobs },
      ...written,
      settled,
      history.view.head === undefined ? {} : { head: history.view.head },
    ),
    stale: adoption.kind === "stale",
  };
}

async function decodeAll(
  activation: Activation,
  state: Uint8Array,
  client: ClientBlobs,
): Promise<{ readonly value: Imported } | { readonly code: FailureCode }> {
  const { wire, deps, member } = activation;
  for (;;) {
    const result = decodeCheckpoint(state, (id) => wire.blobs.get(id));
    if (result.ok) return { value: result.value };
    if (result.kind !== "missing") return { code: result.kind === "mismatch" ? "BLOB_INVALID" : "HISTORY_INVALID" };
    const stored = await deps.store.blobs(member, result.blobs);
    for (const [id, data] of stored) wire.blobs.set(id, data);
    const wanted = result.blobs.filter((id) => !stored.has(id));
    const got = await Promise.all(wanted.map(async (id) => [id, await client.get(id)] as const));
    for (const [id, data] of got) {
      if (data === undefined) return { code: "BLOB_MISSING" };
      if (deps.codec.blobId(data) !== id) return { code: "BLOB_INVALID" };
      wire.blobs.set(id, data);
    }
  }
}
