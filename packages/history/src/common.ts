import type { CanonicalMessage, CheckpointId } from "@chartroom/domain";
import { type Chain, pathTo } from "./chain.ts";
import { isHidden, isSilentRound, saysFlattened, saysSame } from "./same.ts";
import { EMPTY_VIEW, extendView } from "./view.ts";

/** A branch to compare with: its head, and the rows of its chain, root first. */
export interface Branch {
  readonly head: CheckpointId;
  readonly messages: readonly CanonicalMessage[];
}

/** A history that a client of this branch may have been given. */
export interface Told {
  readonly branch: Branch;
  readonly messages: readonly CanonicalMessage[];
  /** It reaches to the head. */
  readonly whole: boolean;
  /** Messages of the chain that the first `count` of these are; `undefined` where they are no place on it. */
  chainCount(count: number): number | undefined;
}

export interface Common {
  readonly told: Told;
  /** How many of theirs ours say too, from the first on. */
  readonly theirs: number;
  /** How many of ours that takes. */
  readonly ours: number;
}

/** What the client has most in common with; `undefined` when that is nothing. */
export function mostInCommon(
  theirs: readonly CanonicalMessage[],
  chain: Chain,
  branches: readonly Branch[],
): Common | undefined {
  let best: Common | undefined;
  // newest first: of two compactions that read the same the client stands at the later one, or a turn would be dropped
  for (const told of branches.flatMap((branch) => toldBy(chain, branch).toReversed())) {
    const { common, ours } = commonPart(theirs, told.messages);
    if (common > (best?.theirs ?? 0) && told.chainCount(ours) !== undefined) best = { told, theirs: common, ours };
  }
  return best;
}

/** What a model sees at the head of a branch: behind a compaction its new prefix and what followed. */
export function seenAtHead(chain: Chain, branch: Branch): readonly CanonicalMessage[] {
  return toldBy(chain, branch).at(-1)?.messages ?? branch.messages;
}

/** All rows of the chain, for a client that keeps what it showed, and what a model saw after each compaction, for one that keeps our checkpoints. */
function toldBy(chain: Chain, branch: Branch): readonly Told[] {
  const all: Told = { branch, messages: branch.messages, whole: true, chainCount: (count) => count };
  const path = pathTo(chain, branch.head);
  if (!path.some((node) => node.compaction !== undefined)) return [all];
  const rows = new Map(branch.messages.map((row) => [row.id, row]));
  const told: Told[] = [all];
  let view = EMPTY_VIEW;
  let below = 0;
  const keep = (whole: boolean) => {
    const { messages, compactedTo } = view;
    if (compactedTo === 0) return;
    const start = below;
    told.push({
      branch,
      messages,
      whole,
      chainCount: (count) => (count < compactedTo ? undefined : start + count - compactedTo),
    });
  };
  for (const node of path) {
    if (node.compaction !== undefined) keep(false);
    view = extendView(
      view,
      node,
      node.added.flatMap((id) => rows.get(id) ?? []),
    );
    if (node.compaction !== undefined) below = node.length;
  }
  keep(true);
  return told;
}

/** How many of their messages ours say too, from the first on, and how many of ours that takes. */
function commonPart(
  theirs: readonly CanonicalMessage[],
  ours: readonly CanonicalMessage[],
): { readonly common: number; readonly ours: number } {
  let common = 0;
  // what counts: a match of what somebody said, or of one and the same row; equal words of two servers are not enough
  let sure = { common: 0, ours: 0 };
  for (let at = 0; at < ours.length && common < theirs.length; at += 1) {
    const mine = ours[at];
    const said = theirs[common];
    if (mine === undefined || said === undefined) break;
    if (mine.id === said.id || saysSame(said, mine) || saysFlattened(said, mine)) {
      common += 1;
      if (mine.id === said.id || !isHidden(mine)) sure = { common, ours: at + 1 };
    } else if (!isHidden(mine) && !(isSilentRound(mine) && saysFlattened(said, ours[at + 1]))) {
      break;
    }
  }
  return sure;
}
