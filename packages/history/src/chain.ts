import type { CheckpointId, CheckpointNode, HistoryId, InputAnchor, RunId } from "@chartroom/domain";
import { checkpointId } from "./ids.ts";

/**
 * All checkpoint nodes and input anchors of a conversation. It only grows: what `extendChain` adds is seen through every
 * value of the same chain, and nothing in it is ever taken back, so that a turn costs the same at every length.
 */
export interface Chain {
  readonly nodes: ReadonlyMap<CheckpointId, CheckpointNode>;
  readonly anchors: readonly InputAnchor[];
  /** Nodes that list a message; usually one. */
  readonly listing: ReadonlyMap<HistoryId, readonly CheckpointId[]>;
}

interface GrowingChain extends Chain {
  readonly nodes: Map<CheckpointId, CheckpointNode>;
  readonly anchors: InputAnchor[];
  readonly listing: Map<HistoryId, CheckpointId[]>;
  readonly anchored: Set<string>;
}

export function chainOf(nodes: Iterable<CheckpointNode>, anchors: readonly InputAnchor[]): Chain {
  const chain: GrowingChain = { nodes: new Map(), anchors: [], listing: new Map(), anchored: new Set() };
  return extendChain(chain, [...nodes], anchors);
}

/**
 * Adds nodes and anchors. Of a node that is there already only what is told later can change: that it was delivered, and its
 * wire state.
 */
export function extendChain(
  chain: Chain,
  nodes: readonly CheckpointNode[],
  anchors: readonly InputAnchor[] = [],
): Chain {
  const growing = chain as GrowingChain;
  for (const node of nodes) {
    const known = growing.nodes.get(node.id);
    growing.nodes.set(node.id, known === undefined ? node : { ...known, ...told(known, node) });
    if (known !== undefined) continue;
    for (const id of node.added) {
      const listing = growing.listing.get(id);
      if (listing === undefined) growing.listing.set(id, [node.id]);
      else listing.push(node.id);
    }
  }
  for (const anchor of anchors) {
    const key = `${anchor.base ?? ""} ${anchor.event}`;
    if (growing.anchored.has(key)) continue;
    growing.anchored.add(key);
    growing.anchors.push(anchor);
  }
  return chain;
}

/** Takes the wire state of a node out of memory; the store has it. */
export function dropState(chain: Chain, id: CheckpointId): void {
  const { nodes } = chain as GrowingChain;
  const node = nodes.get(id);
  if (node === undefined) return;
  const { wireState: _, ...rest } = node;
  nodes.set(id, rest);
}

function told(known: CheckpointNode, now: CheckpointNode): Pick<CheckpointNode, "delivered" | "wireState"> {
  const wireState = now.wireState ?? known.wireState;
  return { delivered: known.delivered || now.delivered, ...(wireState === undefined ? {} : { wireState }) };
}

/** A new node on top of `parent`. Its id follows from its place and content. */
export function appendNode(
  chain: Chain,
  parent: CheckpointId | undefined,
  added: readonly HistoryId[],
  options: {
    readonly runId?: RunId;
    readonly compaction?: CheckpointNode["compaction"];
    /** Messages below it, where the parent is not in the chain yet. */
    readonly below?: number;
  } = {},
): CheckpointNode {
  const { runId, compaction } = options;
  const reset = compaction === undefined ? "" : `${compaction.summaryId} ${compaction.keptFrom ?? ""}`;
  const below = nodeOf(chain, parent)?.length ?? options.below ?? 0;
  return {
    id: checkpointId(parent, added, reset),
    parent,
    ...(runId === undefined ? {} : { runId }),
    added,
    length: below + added.length,
    ...(compaction === undefined ? {} : { compaction }),
    delivered: false,
  };
}

/** The nodes from the root to `head`, root first. Stops at a parent that is not in the chain. */
export function pathTo(chain: Chain, head: CheckpointId | undefined): readonly CheckpointNode[] {
  const path: CheckpointNode[] = [];
  for (let node = nodeOf(chain, head); node !== undefined; node = nodeOf(chain, node.parent)) path.push(node);
  return path.toReversed();
}

/** Nodes that no other node stands on: the tips of the branches. */
export function tips(chain: Chain): readonly CheckpointNode[] {
  const parents = new Set([...chain.nodes.values()].map((node) => node.parent));
  return [...chain.nodes.values()].filter((node) => !parents.has(node.id));
}

/** Whether a message is on the branch that ends in `head`. Costs a walk only for a message that some branch has. */
export function branchHas(chain: Chain, head: CheckpointId | undefined, id: HistoryId): boolean {
  return (chain.listing.get(id) ?? []).some((node) => isOn(chain, head, node));
}

/** Whether a node is `head` or below it. */
export function isOn(chain: Chain, head: CheckpointId | undefined, node: CheckpointId): boolean {
  const wanted = chain.nodes.get(node);
  if (wanted === undefined) return false;
  for (let at = nodeOf(chain, head); at !== undefined && at.length >= wanted.length; at = nodeOf(chain, at.parent))
    if (at.id === node) return true;
  return false;
}

export function nodeOf(chain: Chain, id: CheckpointId | undefined): CheckpointNode | undefined {
  return id === undefined ? undefined : chain.nodes.get(id);
}
