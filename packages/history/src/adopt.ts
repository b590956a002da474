import type {
  CanonicalMessage,
  CheckpointId,
  CheckpointNode,
  HistoryId,
  InputAnchor,
  ToolCallRecord,
  ToolResultRecord,
  UserMessage,
} from "@chartroom/domain";
import { appendNode, type Chain, pathTo } from "./chain.ts";
import { idsOf } from "./opening.ts";
import { olderThanHead } from "./relate.ts";
import { inputOfEvent, spaceOf } from "./ids.ts";

/** A branch to compare with: its head, and the rows of its chain, root first. */
export interface Branch {
  readonly head: CheckpointId;
  readonly messages: readonly CanonicalMessage[];
}

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
  message?: UserMessage,
): Adoption {
  const theirs = imported.filter((message) => message.role !== "system");
  const systems = imported.filter((message) => message.role === "system");
  let best: { readonly branch: Branch; readonly common: number; readonly ours: number } | undefined;
  for (const branch of branches) {
    const found = commonPart(theirs, branch.messages);
    if (best === undefined || found.common > best.common) best = { branch, ...found };
  }
  if (theirs.length === 0 && head !== undefined) {
    const relation = olderThanHead(chain, head, undefined, message);
    if (relation.kind === "stale") return { ...UNCHANGED, kind: "stale", base: head };
    if (imported.length === 0) return { ...UNCHANGED, kind: "rewind", base: undefined };
  }
  if (best === undefined || best.common === 0) return whole(imported, chain);

  const { branch, common, ours } = best;
  const rest = theirs.slice(common);
  const ownSystems = branch.messages.filter((message) => message.role === "system");
  const sameSystems =
    systems.length === 0 ||
    (systems.length === ownSystems.length && systems.every((message, at) => saysSame(message, ownSystems[at])));
  if (!sameSystems) return underNewSystem({ systems, rest, common, ours, branch, chain });

  const settle = resultsFor(openAt(branch.messages.slice(0, ours)), rest);
  const more = rest.slice(settle.length);
  if (more.length === 0) {
    const end = ours === branch.messages.length || behindIsHidden(branch.messages.slice(ours));
    const place = end ? { base: branch.head, nodes: [] } : nodeAt(chain, branch, ours);
    const relation = head === undefined ? undefined : standing(chain, head, place, message);
    if (relation === undefined || relation.kind === "rewind")
      return { ...UNCHANGED, kind: "rewind", base: relation?.base ?? place.base, nodes: place.nodes, common, settle };
    return { ...UNCHANGED, kind: relation.kind, base: relation.base, common, settle };
  }
  const place = nodeAt(chain, branch, ours);
  const grown = grow(chain, place.base, ours, rest);
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
function underNewSystem(parts: {
  readonly systems: readonly CanonicalMessage[];
  readonly rest: readonly CanonicalMessage[];
  readonly common: number;
  readonly ours: number;
  readonly branch: Branch;
  readonly chain: Chain;
}): Adoption {
  const kept = parts.branch.messages.slice(0, parts.ours).filter((message) => message.role !== "system");
  const grown = grow(parts.chain, undefined, 0, [...parts.systems, ...kept, ...parts.rest]);
  return { ...UNCHANGED, kind: "branch", ...grown, messages: [...parts.systems, ...parts.rest], common: parts.common };
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

/** What the server added on its own: a client that rebuilds its history does not send it back. */
function isHidden(message: CanonicalMessage): boolean {
  const space = spaceOf(message.id)?.space;
  return message.role === "system" || space === "request-context" || space === "runtime" || space === "summary";
}

function behindIsHidden(messages: readonly CanonicalMessage[]): boolean {
  return messages.every(isHidden);
}

/** Whether two messages say the same, whoever wrote them down. */
export function saysSame(a: CanonicalMessage, b: CanonicalMessage | undefined): boolean {
  if (b === undefined || a.role !== b.role) return false;
  if (a.content.kind === "assistant" && b.content.kind === "assistant") {
    const left = a.content.record;
    const right = b.content.record;
    return (
      shownText(left.blocks) === shownText(right.blocks) &&
      left.calls.length === right.calls.length &&
      left.calls.every((call, at) => sameCall(call, right.calls[at]))
    );
  }
  if (a.content.kind === "toolResult" && b.content.kind === "toolResult") {
    // a call has one result for ever: the same id is the same result, however the client writes it down
    if (a.content.result.callId === b.content.result.callId) return true;
    return (
      a.content.result.toolName === b.content.result.toolName &&
      a.content.result.text.trim() === b.content.result.text.trim()
    );
  }
  if (a.content.kind === "parts" && b.content.kind === "parts") return saidText(a) === saidText(b);
  return false;
}

/** Whether a client that keeps text alone means this message: an answer without its calls, or a result as a user's text. */
function saysFlattened(said: CanonicalMessage, mine: CanonicalMessage | undefined): boolean {
  if (mine?.content.kind === "toolResult" && said.role === "user")
    return saidText(said) === `[Tool Result]\n${mine.content.result.text}`.trim();
  if (mine?.content.kind !== "assistant" || said.content.kind !== "assistant") return false;
  const { calls, blocks } = mine.content.record;
  return (
    calls.length > 0 &&
    said.content.record.calls.length === 0 &&
    shownText(said.content.record.blocks) === shownText(blocks)
  );
}

/** A round that shows no text: a client that keeps text alone has nothing of it but the results. */
function isSilentRound(message: CanonicalMessage): boolean {
  const { content } = message;
  return content.kind === "assistant" && content.record.calls.length > 0 && shownText(content.record.blocks) === "";
}

function shownText(blocks: readonly { readonly type: string; readonly text: string }[]): string {
  return blocks
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("")
    .trim();
}

/** The user's own words: the last text part; what the server put before them is not the client's to repeat. */
function saidText(message: CanonicalMessage): string {
  if (message.content.kind !== "parts") return "";
  const texts = message.content.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return (message.role === "user" && message.origin === "user" ? (texts.at(-1) ?? "") : texts.join("\n")).trim();
}

function sameCall(a: ToolCallRecord, b: ToolCallRecord | undefined): boolean {
  if (b === undefined || a.name !== b.name) return false;
  if (a.arguments === b.arguments) return true;
  try {
    return sorted(JSON.parse(a.arguments)) === sorted(JSON.parse(b.arguments));
  } catch {
    return false;
  }
}

/** JSON of a value with its keys in order, for comparing. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function openAt(messages: readonly CanonicalMessage[]): readonly ToolCallRecord[] {
  const settled = new Set<string>();
  for (const message of messages.toReversed()) {
    if (message.content.kind === "toolResult") settled.add(message.content.result.callId);
    else if (message.content.kind === "assistant")
      return message.content.record.calls.filter((call) => !settled.has(call.id));
    else return [];
  }
  return [];
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
}

/** The node after the first `count` messages of a branch; a new one where no node ends there. */
function nodeAt(chain: Chain, branch: Branch, count: number): Located {
  if (count === 0) return { base: undefined, nodes: [] };
  const path = pathTo(chain, branch.head);
  const at = path.findIndex((node) => node.length >= count);
  const node = path[at];
  if (node === undefined || node.length === count) return { base: node?.id ?? branch.head, nodes: [] };
  const before = node.length - node.added.length;
  const added: readonly HistoryId[] = node.added.slice(0, count - before);
  const part = appendNode(chain, node.parent, added);
  return { base: part.id, nodes: [part] };
}

/** How a client that stands at `place` stands to our head. A place within a node counts as the node below it. */
function standing(
  chain: Chain,
  head: CheckpointId,
  place: Located,
  message: UserMessage | undefined,
): ReturnType<typeof olderThanHead> {
  const [part] = place.nodes;
  if (part === undefined) return olderThanHead(chain, head, place.base, message);
  const below = olderThanHead(chain, head, part.parent, message);
  return below.kind === "rewind" && below.base === part.parent ? { kind: "rewind", base: part.id } : below;
}

const UNCHANGED = { nodes: [], anchors: [], messages: [], common: 0, settle: [] } as const;
