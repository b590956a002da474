import type { BlobId, CheckpointId, CheckpointNode } from "@chartroom/domain";
import { type Chain, pathTo } from "./chain.ts";
import { type Outline, readState } from "./wire/state.ts";

/** Where a client's state stands among ours, judged by its ids alone. Each case goes into the trace by its name. */
export type Relation =
  /** Nothing was said yet, on either side. */
  | { readonly kind: "new" }
  /** The state is that of our head. `shrunk`: it has lost entries that our head has; ours win. */
  | { readonly kind: "continue"; readonly base: CheckpointId; readonly shrunk: boolean }
  /** Older than our head, and nothing newer was delivered: continue from our head and publish it first. */
  | { readonly kind: "stale"; readonly base: CheckpointId; readonly from: CheckpointId | undefined }
  /** Older than our head, which the client knew: a branch from there. `undefined` is the root. */
  | { readonly kind: "rewind"; readonly base: CheckpointId | undefined }
  /** Not a state that we wrote: decode it and let `adopt` find what it has in common with ours. */
  | { readonly kind: "foreign" };

/**
 * Relates a client's state to the conversation. A state is recognised by its root prompt messages (index 0, the system text,
 * excepted) and its pending calls; nothing is guessed from their number. Retries and claims are decided before this, by
 * message id (lifecycle section 6).
 */
export function relate(outline: Outline, chain: Chain, head: CheckpointId | undefined): Relation {
  if (outline.empty) {
    if (head === undefined) return { kind: "new" };
    return olderThanHead(chain, head, undefined);
  }
  if (head === undefined) return { kind: "foreign" };
  const shown = candidates(chain, head);
  const match = shown.find((candidate) => sameHistory(outline, candidate));
  if (match !== undefined) return olderThanHead(chain, head, match.node.id);
  const lost = shown.find((candidate) => isShrunk(outline, candidate));
  if (lost === undefined) return { kind: "foreign" };
  const relation = olderThanHead(chain, head, lost.node.id);
  return relation.kind === "continue" ? { ...relation, shrunk: true } : relation;
}

interface Candidate {
  readonly node: CheckpointNode;
  outline(): Outline | undefined;
}

/** Nodes with a state, the head's branch first, newest first. States are decoded when they are looked at. */
function candidates(chain: Chain, head: CheckpointId): readonly Candidate[] {
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
    ours !== undefined && sameIds(behindSystem(outline), behindSystem(ours)) && sameTexts(outline.pending, ours.pending)
  );
}

/** The same shown turns, but fewer root prompt messages, in order: entries were lost on the client's side. */
function isShrunk(outline: Outline, candidate: Candidate): boolean {
  const ours = candidate.outline();
  if (ours === undefined || outline.turns.length === 0 || !sameIds(outline.turns, ours.turns)) return false;
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

function sameIds(a: readonly BlobId[], b: readonly BlobId[]): boolean {
  return a.length === b.length && a.every((id, at) => id === b[at]);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}

/** The relation of a client that stands at `from` (`undefined`: the root). */
export function olderThanHead(
  chain: Chain,
  head: CheckpointId,
  from: CheckpointId | undefined,
): Extract<Relation, { kind: "continue" | "stale" | "rewind" }> {
  if (from === head) return { kind: "continue", base: head, shrunk: false };
  const path = pathTo(chain, head);
  const at = from === undefined ? -1 : path.findIndex((node) => node.id === from);
  // a node of another branch: the user went back to it
  if (from !== undefined && at < 0) return { kind: "rewind", base: from };
  const newer = path.slice(at + 1);
  return newer.some((node) => node.delivered) ? { kind: "rewind", base: from } : { kind: "stale", base: head, from };
}
