import type { BlobId, CheckpointId, CheckpointNode, UserMessage } from "@chartroom/domain";
import { type Chain, isOn, nodeOf, pathTo } from "./chain.ts";
import { eventId, inputDigest } from "./ids.ts";
import { type Outline, readState } from "./wire/state.ts";

/** Where a client's state stands among ours, judged by its ids alone. Each case goes into the trace by its name. */
export type Relation =
  /** Nothing was said yet, on either side. */
  | { readonly kind: "new" }
  /** The state is that of our head. `shrunk`: it has lost entries that our head has; ours win. */
  | { readonly kind: "continue"; readonly base: CheckpointId; readonly shrunk: boolean }
  /** Older than our head, and nothing newer was delivered: continue from our head and publish it first. */
  | { readonly kind: "stale"; readonly base: CheckpointId; readonly from: CheckpointId | undefined }
  /** Older than our head, which the client knew, or an input said anew with other content: a branch from there. `undefined` is the root. */
  | { readonly kind: "rewind"; readonly base: CheckpointId | undefined }
  /** Not a state that we wrote: decode it and let `adopt` find what it has in common with ours. */
  | { readonly kind: "foreign" };

/** What comes with a client's state. */
export interface Said {
  /** The user message, if there is one: an edit of an undelivered input is a branch. */
  readonly message?: UserMessage | undefined;
  /** Checkpoints that were delivered after the client had said it: it spoke without them. */
  readonly unseen?: ReadonlySet<CheckpointId> | undefined;
}

/**
 * Relates a client's state to the conversation. A state is recognised by its root prompt messages (index 0, the system text,
 * excepted) and its pending calls; nothing is guessed from their number. Retries and claims are decided before this, by
 * message id (lifecycle section 6). `said` is what comes with the state.
 */
export function relate(outline: Outline, chain: Chain, head: CheckpointId | undefined, said: Said = {}): Relation {
  if (outline.empty) return head === undefined ? { kind: "new" } : olderThanHead(chain, head, undefined, said);
  const own = nodeOf(chain, head);
  // what nearly all bring: the state that was made of the head, to the byte
  if (own !== undefined && sameBytes(outline.bytes, own.wireState)) return olderThanHead(chain, own.id, own.id, said);
  const shown = candidates(chain, head);
  const match =
    shown.find((candidate) => sameBytes(outline.bytes, candidate.node.wireState)) ??
    shown.find((candidate) => sameHistory(outline, candidate));
  const place = match ?? shown.find((candidate) => isShrunk(outline, candidate));
  if (place === undefined) return { kind: "foreign" };
  // the conversation was taken back to its root: the client goes back to what was left
  if (own === undefined) return { kind: "rewind", base: place.node.id };
  const relation = olderThanHead(chain, own.id, place.node.id, said);
  return match === undefined && relation.kind === "continue" ? { ...relation, shrunk: true } : relation;
}

/** The relation of a client that stands at `from` (`undefined`: the root). */
export function olderThanHead(
  chain: Chain,
  head: CheckpointId,
  from: CheckpointId | undefined,
  { message, unseen }: Said = {},
): Extract<Relation, { kind: "continue" | "stale" | "rewind" }> {
  if (from === head) return { kind: "continue", base: head, shrunk: false };
  // a node of another branch: the user went back to it
  if (from !== undefined && !isOn(chain, head, from)) return { kind: "rewind", base: from };
  const path = pathTo(chain, head);
  const newer = path.slice(from === undefined ? 0 : path.findIndex((node) => node.id === from) + 1);
  if (newer.some((node) => node.delivered && unseen?.has(node.id) !== true)) return { kind: "rewind", base: from };
  const edited = message === undefined ? undefined : editOf(chain, from, newer, message);
  return edited ?? { kind: "stale", base: head, from };
}

/** An input that was said behind `from` with other content, and with this content nowhere: the branch begins where it was said. */
function editOf(
  chain: Chain,
  from: CheckpointId | undefined,
  newer: readonly CheckpointNode[],
  message: UserMessage,
): { readonly kind: "rewind"; readonly base: CheckpointId | undefined } | undefined {
  const said = chain.anchors.filter((anchor) => anchor.inputId === String(message.messageId));
  const bases = new Set<CheckpointId | undefined>([from, ...newer.map((node) => node.id)]);
  const here = said.filter((anchor) => bases.has(anchor.base));
  const event = eventId(message.messageId, inputDigest(message));
  const [first] = here;
  return first === undefined || here.some((anchor) => anchor.event === event)
    ? undefined
    : { kind: "rewind", base: first.base };
}

interface Candidate {
  readonly node: CheckpointNode;
  outline(): Outline | undefined;
}

/** Nodes with a state, the head's branch first, newest first. States are decoded when they are looked at. */
function candidates(chain: Chain, head: CheckpointId | undefined): readonly Candidate[] {
  const branch = pathTo(chain, head).toReversed();
  const onBranch = new Set(branch.map((node) => node.id));
  const others = [...chain.nodes.values()].toReversed().filter((node) => !onBranch.has(node.id));
  return [...branch, ...others].flatMap((node): readonly Candidate[] => {
    const { wireState } = node;
    if (wireState === undefined) return [];
    let read: Outline | undefined;
    return [
      {
        node,
        outline() {
          if (read === undefined) {
            const result = readState(wireState);
            read = result.ok ? result.outline : undefined;
          }
          return read;
        },
      },
    ];
  });
}

function sameHistory(outline: Outline, candidate: Candidate): boolean {
  const ours = candidate.outline();
  return (
    ours !== undefined &&
    ours.roots.length > 1 &&
    sameList(behindSystem(outline), behindSystem(ours)) &&
    sameList(outline.pending, ours.pending)
  );
}

/** The same shown turns, but fewer root prompt messages, in order: entries were lost on the client's side. */
function isShrunk(outline: Outline, candidate: Candidate): boolean {
  const ours = candidate.outline();
  if (ours === undefined || outline.turns.length === 0 || !sameList(outline.turns, ours.turns)) return false;
  const mine = behindSystem(ours);
  const theirs = behindSystem(outline);
  if (theirs.length >= mine.length) return false;
  let at = 0;
  for (const id of mine) if (id === theirs[at]) at += 1;
  return at === theirs.length;
}

/** What is behind the system text. */
function behindSystem(outline: Outline): readonly BlobId[] {
  return outline.roots.slice(1);
}

function sameBytes(a: Uint8Array, b: Uint8Array | undefined): boolean {
  if (b === undefined || a.byteLength !== b.byteLength) return false;
  for (let at = a.byteLength - 1; at >= 0; at -= 1) if (a[at] !== b[at]) return false;
  return true;
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}
