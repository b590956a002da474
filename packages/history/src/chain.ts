import type { CheckpointId, CheckpointNode, EventId, HistoryId, InputAnchor, RunId } from "@chartroom/domain";
import { checkpointId } from "./ids.ts";

/** All checkpoint nodes and input anchors of a conversation. Only grows; nothing in it is ever rewritten. */
export interface Chain {
  readonly nodes: ReadonlyMap<CheckpointId, CheckpointNode>;
  readonly anchors: readonly InputAnchor[];
}

export function chainOf(nodes: Iterable<CheckpointNode>, anchors: readonly InputAnchor[]): Chain {
  return { nodes: new Map([...nodes].map((node) => [node.id, node])), anchors };
}

/** The chain with more nodes and anchors; what it has already stands. */
export function extendChain(
  chain: Chain,
  nodes: readonly CheckpointNode[],
  anchors: readonly InputAnchor[] = [],
): Chain {
  const all = new Map(chain.nodes);
  for (const node of nodes) if (!all.has(node.id)) all.set(node.id, node);
  const fresh = anchors.filter((anchor) => !chain.anchors.some((known) => sameAnchor(known, anchor)));
  return { nodes: all, anchors: [...chain.anchors, ...fresh] };
}

const sameAnchor = (a: InputAnchor, b: InputAnchor): boolean => a.event === b.event && a.base === b.base;

/** A new node on top of `parent`, which must be in the chain. Its id follows from its place and content. */
export function appendNode(
  chain: Chain,
  parent: CheckpointId | undefined,
  added: readonly HistoryId[],
  options: { readonly runId?: RunId; readonly compaction?: CheckpointNode["compaction"] } = {},
): CheckpointNode {
  const { runId, compaction } = options;
  const reset = compaction === undefined ? "" : `${compaction.summaryId} ${compaction.keptFrom ?? ""}`;
  const below = parent === undefined ? 0 : (chain.nodes.get(parent)?.length ?? 0);
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
  for (let at = head; at !== undefined;) {
    const node = chain.nodes.get(at);
    if (node === undefined) break;
    path.push(node);
    at = node.parent;
  }
  return path.toReversed();
}

/** Nodes that no other node stands on: the tips of the branches. */
export function tips(chain: Chain): readonly CheckpointNode[] {
  const parents = new Set([...chain.nodes.values()].map((node) => node.parent));
  return [...chain.nodes.values()].filter((node) => !parents.has(node.id));
}

/** Whether a message is on the branch that ends in `head`. */
export function branchHas(chain: Chain, head: CheckpointId | undefined, id: HistoryId): boolean {
  for (let at = head; at !== undefined;) {
    const node = chain.nodes.get(at);
    if (node === undefined) return false;
    if (node.added.includes(id)) return true;
    at = node.parent;
  }
  return false;
}

/** The places at which an input was said: by event and base. */
export function anchorsOf(chain: Chain, match: (event: EventId) => boolean): readonly InputAnchor[] {
  return chain.anchors.filter((anchor) => match(anchor.event));
}
