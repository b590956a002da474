import type { CanonicalMessage, CheckpointId, CheckpointNode, HistoryId, ToolCallRecord } from "@chartroom/domain";
import { type Chain, pathTo } from "./chain.ts";
import { sectionsOf } from "./context.ts";
import { grew } from "./lines.ts";

/** What a branch looks like from its head: the messages that go to a model, and what is needed to append to them. */
export interface HeadView {
  readonly head: CheckpointId | undefined;
  /** Number of messages from the root of the chain, those before a compaction included. */
  readonly length: number;
  /** What is projected: all messages, or since the newest compaction its new prefix and what followed. */
  readonly messages: readonly CanonicalMessage[];
  /** Newest rendering of each section of the request context on this branch. */
  readonly sections: ReadonlyMap<string, string>;
  /** The summary that the branch stands on. */
  readonly summary: HistoryId | undefined;
  /** Messages of the view that were there when it was last compacted; 0 when it never was. */
  readonly compactedTo: number;
}

export const EMPTY_VIEW: HeadView = {
  head: undefined,
  length: 0,
  messages: [],
  sections: new Map(),
  summary: undefined,
  compactedTo: 0,
};

export type ViewResult =
  | { readonly ok: true; readonly view: HeadView }
  /** Rows that the nodes name and the caller did not bring. */
  | { readonly ok: false; readonly missing: readonly HistoryId[] };

/** The view of a head, from the rows of its chain in any order. Cost: the length of the chain, once per activation. */
export function headView(chain: Chain, head: CheckpointId | undefined, rows: Iterable<CanonicalMessage>): ViewResult {
  const byId = new Map([...rows].map((row) => [row.id, row]));
  const missing: HistoryId[] = [];
  let view = EMPTY_VIEW;
  // nodes without a compaction are taken together, so that the messages are copied once
  let waiting: CanonicalMessage[] = [];
  let last: CheckpointNode | undefined;
  for (const node of pathTo(chain, head)) {
    const added: CanonicalMessage[] = [];
    for (const id of node.added) {
      const row = byId.get(id);
      if (row === undefined) missing.push(id);
      else added.push(row);
    }
    if (node.compaction !== undefined) {
      if (last !== undefined) view = extendView(view, last, waiting);
      view = extendView(view, node, added);
      waiting = [];
      last = undefined;
      continue;
    }
    waiting.push(...added);
    last = node;
  }
  if (missing.length > 0) return { ok: false, missing };
  return { ok: true, view: last === undefined ? view : extendView(view, last, waiting) };
}

/** The view after one more node; `added` are the rows of `node.added`, in order. Its messages are put together when they are asked for. */
export function extendView(view: HeadView, node: CheckpointNode, added: readonly CanonicalMessage[]): HeadView {
  const { compaction } = node;
  if (compaction !== undefined) {
    const messages = added.concat(keptTail(view, compaction.keptFrom));
    return {
      head: node.id,
      length: node.length,
      messages,
      sections: added.some(isContext) ? withSections(new Map(), added) : new Map(),
      summary: compaction.summaryId,
      compactedTo: messages.length,
    };
  }
  return new GrownView(view, node, added);
}

/** A view and what a node adds to it. Several of them in a row are one copy of the messages, when somebody looks. */
class GrownView implements HeadView {
  readonly head: CheckpointId;
  readonly length: number;
  readonly sections: ReadonlyMap<string, string>;
  readonly summary: HistoryId | undefined;
  readonly compactedTo: number;
  #messages: readonly CanonicalMessage[] | undefined;
  /** The messages below, and what has been added to them since, in order. */
  #from: { readonly base: readonly CanonicalMessage[]; readonly added: readonly (readonly CanonicalMessage[])[] };

  constructor(view: HeadView, node: CheckpointNode, added: readonly CanonicalMessage[]) {
    this.head = node.id;
    this.length = node.length;
    this.sections = added.some(isContext) ? withSections(view.sections, added) : view.sections;
    this.summary = added.findLast(isSummary)?.id ?? view.summary;
    this.compactedTo = view.compactedTo;
    const below = view instanceof GrownView && view.#messages === undefined ? view.#from : undefined;
    this.#from = { base: below?.base ?? view.messages, added: [...(below?.added ?? []), added] };
  }

  get messages(): readonly CanonicalMessage[] {
    if (this.#messages === undefined) {
      const { base, added } = this.#from;
      this.#messages = base.concat(...added);
      grew(base, this.#messages);
      this.#from = { base: this.#messages, added: [] };
    }
    return this.#messages;
  }
}

/** The recent messages that a compaction keeps; its own context event replaces the earlier ones. */
function keptTail(view: HeadView, keptFrom: HistoryId | undefined): readonly CanonicalMessage[] {
  if (keptFrom === undefined) return [];
  const from = view.messages.findIndex((message) => message.id === keptFrom);
  return from < 0 ? [] : view.messages.slice(from).filter((message) => !isContext(message));
}

export function isSummary(message: CanonicalMessage): boolean {
  return message.id.startsWith("summary:");
}

export function isContext(message: CanonicalMessage): boolean {
  return message.origin === "prompt" && message.id.startsWith("request-context:");
}

function withSections(
  base: ReadonlyMap<string, string>,
  added: readonly CanonicalMessage[],
): ReadonlyMap<string, string> {
  const sections = new Map(base);
  for (const message of added)
    if (isContext(message)) for (const { name, text } of sectionsOf(message)) sections.set(name, text);
  return sections;
}

/** Calls of the newest round that have no result yet; empty when another message follows the round. */
export function openCalls(messages: readonly CanonicalMessage[]): readonly ToolCallRecord[] {
  const settled = new Set<string>();
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const content = messages[at]?.content;
    if (content?.kind === "toolResult") settled.add(content.result.callId);
    else if (content?.kind === "assistant") return content.record.calls.filter((call) => !settled.has(call.id));
    else return [];
  }
  return [];
}

/** Whether a Run that starts here has something to answer: the head ends in a user message, a tool result or an open call. */
export function isUnfinished(messages: readonly CanonicalMessage[]): boolean {
  const last = messages.at(-1);
  if (last === undefined) return false;
  if (last.role === "system" || isSummary(last) || isContext(last)) return false;
  if (last.content.kind !== "assistant") return true;
  return last.content.record.partial || openCalls(messages).length > 0;
}
