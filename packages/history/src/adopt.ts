import type {
  CanonicalMessage,
  CheckpointId,
  CheckpointNode,
  InputAnchor,
  ToolCallRecord,
  ToolResultRecord,
} from "@chartroom/domain";
import { appendNode, type Chain, pathTo } from "./chain.ts";
import { idsOf } from "./opening.ts";
import { olderThanHead, type Said } from "./relate.ts";
import { type Branch, type Common, mostInCommon, seenAtHead } from "./common.ts";
import { inputOfEvent, spaceOf } from "./ids.ts";
import { isHidden, saysSame } from "./same.ts";
import { openCalls } from "./view.ts";

export interface Adoption {
  /**
   * - `import`: nothing in common; the messages are a branch of their own from the root.
   * - `branch`: common up to a point, then the client's own.
   * - `continue`, `stale`, `rewind`: as in `Relation`; the client said nothing that we do not have.
   */
  readonly kind: "import" | "branch" | "continue" | "stale" | "rewind";
  /** Where the turn goes on; `undefined` is the root. */
  readonly base: CheckpointId | undefined;
  /** To be written: nodes (parents first), anchors, and the rows that the nodes add. */
  readonly nodes: readonly CheckpointNode[];
  readonly anchors: readonly InputAnchor[];
  readonly messages: readonly CanonicalMessage[];
  /** Messages of the client that we had. */
  readonly common: number;
  /** Results that the client brings for calls that are open at `base`; not among `messages`. */
  readonly settle: readonly ToolResultRecord[];
}

/**
 * Finds what an imported history has in common with ours and adopts it: messages that say the same are the same, and keep
 * our ids, context events and reasoning state between them. What differs becomes a branch behind the common part; nothing
 * is merged and nothing that the client says is dropped.
 */
export function adopt(
  imported: readonly CanonicalMessage[],
  chain: Chain,
  head: CheckpointId | undefined,
  branches: readonly Branch[],
  said: Said = {},
): Adoption {
  const theirs = imported.filter((message) => message.role !== "system");
  const systems = imported.filter((message) => message.role === "system");
  if (theirs.length === 0 && head !== undefined) {
    const relation = olderThanHead(chain, head, undefined, said);
    if (relation.kind === "stale") return { ...UNCHANGED, kind: "stale", base: head };
    if (imported.length === 0) return { ...UNCHANGED, kind: "rewind", base: undefined };
  }
  const found = mostInCommon(theirs, chain, branches);
  if (found === undefined) return whole(imported, chain);

  const { told, ours } = found;
  const common = found.theirs;
  const rest = theirs.slice(common);
  const ownSystems = told.branch.messages.filter((message) => message.role === "system");
  const sameSystems =
    systems.length === 0 ||
    (systems.length === ownSystems.length && systems.every((message, at) => saysSame(message, ownSystems[at])));
  if (!sameSystems) return underNewSystem(systems, rest, found, chain);

  const settle = resultsFor(openCalls(told.messages.slice(0, ours)), rest);
  const more = rest.slice(settle.length);
  const end = told.whole && told.messages.slice(ours).every(isHidden);
  if (more.length === 0) {
    const place = end ? { base: told.branch.head, nodes: [], below: 0 } : nodeAt(chain, found);
    const relation = head === undefined ? undefined : standing(chain, head, place, said);
    if (relation === undefined || relation.kind === "rewind")
      return { ...UNCHANGED, kind: "rewind", base: relation?.base ?? place.base, nodes: place.nodes, common, settle };
    return { ...UNCHANGED, kind: relation.kind, base: relation.base, common, settle };
  }
  const place = nodeAt(chain, found);
  const grown = grow(chain, place.base, place.below, rest);
  return { ...UNCHANGED, kind: "branch", ...grown, nodes: [...place.nodes, ...grown.nodes], messages: rest, common };
}

function whole(imported: readonly CanonicalMessage[], chain: Chain): Adoption {
  const grown = grow(chain, undefined, 0, imported);
  return { ...UNCHANGED, kind: "import", ...grown, messages: imported };
}

interface Grown {
  readonly base: CheckpointId | undefined;
  readonly nodes: readonly CheckpointNode[];
  readonly anchors: readonly InputAnchor[];
}

/** Nodes for imported messages, one per turn, so that a turn can be gone back to; `below` counts the messages under them. */
function grow(
  chain: Chain,
  base: CheckpointId | undefined,
  below: number,
  messages: readonly CanonicalMessage[],
): Grown {
  const nodes: CheckpointNode[] = [];
  const anchors: InputAnchor[] = [];
  let top = base;
  for (const turn of turnsOf(messages)) {
    const node = appendNode(chain, top, idsOf(turn), { below: nodes.at(-1)?.length ?? below });
    for (const { id, event } of turn) {
      const inputId = event !== undefined && spaceOf(id)?.space === "user-message" ? inputOfEvent(event) : undefined;
      if (inputId !== undefined && event !== undefined) anchors.push({ inputId, event, base: top });
    }
    nodes.push(node);
    top = node.id;
  }
  return { base: top, nodes, anchors };
}

/** Parts of a history, each beginning where a user's turn opens. */
function turnsOf(messages: readonly CanonicalMessage[]): readonly (readonly CanonicalMessage[])[] {
  const turns: CanonicalMessage[][] = [];
  let before: CanonicalMessage | undefined;
  for (const message of messages) {
    const opens = message.role === "user" && before?.role !== "user";
    const turn = opens ? undefined : turns.at(-1);
    if (turn === undefined) turns.push([message]);
    else turn.push(message);
    before = message;
  }
  return turns;
}

/** The client's system text changed: a branch from the root with the new one, and behind it our rows as they are. */
function underNewSystem(
  systems: readonly CanonicalMessage[],
  rest: readonly CanonicalMessage[],
  found: Common,
  chain: Chain,
): Adoption {
  const { told, ours } = found;
  const atEnd = told.whole && told.messages.slice(ours).every(isHidden);
  const ownRows = atEnd ? seenAtHead(chain, told.branch) : told.messages.slice(0, ours);
  const kept = ownRows.filter((message) => message.role !== "system");
  const grown = grow(chain, undefined, 0, [...systems, ...kept, ...rest]);
  return { ...UNCHANGED, kind: "branch", ...grown, messages: [...systems, ...rest], common: found.theirs };
}

/** The leading results of `messages` that answer one of `open`, each call once. */
export function resultsFor(
  open: readonly ToolCallRecord[],
  messages: readonly CanonicalMessage[],
): readonly ToolResultRecord[] {
  const left = new Set<string>(open.map((call) => call.id));
  const results: ToolResultRecord[] = [];
  for (const { content } of messages) {
    if (content.kind !== "toolResult" || !left.delete(content.result.callId)) break;
    results.push(content.result);
  }
  return results;
}

interface Located {
  readonly base: CheckpointId | undefined;
  readonly nodes: readonly CheckpointNode[];
  /** Messages of the chain up to there. */
  readonly below: number;
}

/** The node at which the common part ends; a new one where no node ends there. */
function nodeAt(chain: Chain, { told, ours }: Common): Located {
  const below = told.chainCount(ours) ?? 0;
  const path = pathTo(chain, told.branch.head);
  const node = path.find((candidate) => candidate.length >= below);
  if (below === 0 || node === undefined) return { base: undefined, nodes: [], below: 0 };
  if (node.length === below) return { base: node.id, nodes: [], below };
  const added = node.added.slice(0, below - (node.length - node.added.length));
  const part = appendNode(chain, node.parent, added);
  return { base: part.id, nodes: [part], below };
}

/** How a client that stands at `place` stands to our head. A place within a node counts as the node below it. */
function standing(chain: Chain, head: CheckpointId, place: Located, said: Said): ReturnType<typeof olderThanHead> {
  const [part] = place.nodes;
  if (part === undefined) return olderThanHead(chain, head, place.base, said);
  const below = olderThanHead(chain, head, part.parent, said);
  return below.kind === "rewind" && below.base === part.parent ? { kind: "rewind", base: part.id } : below;
}

const UNCHANGED = { nodes: [], anchors: [], messages: [], common: 0, settle: [] } as const;
