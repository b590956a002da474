import type { CanonicalMessage, CheckpointNode, ContentPart, EventId, HistoryId, RunId } from "@chartroom/domain";
import { appendNode, branchHas } from "./chain.ts";
import { contextParts, type ContextSection, emptySection } from "./context.ts";
import { contextId, runEvent, summaryId } from "./ids.ts";
import { idsOf, type Place, textParts } from "./opening.ts";
import { messagesTokens, messageTokens } from "./tokens.ts";
import { type HeadView, isContext, isSummary } from "./view.ts";

/** Share of the window at which a branch is compacted. */
const TRIGGER_SHARE = 0.9;
/** Share of the window that the kept tail may take. */
const TAIL_SHARE = 0.2;
/** Share of the window that must be new since the last compaction, or another one wins nothing. */
const GROWTH_SHARE = 0.2;
/** Turns for which a compaction that failed is not tried again. */
const REST_TURNS = 3;

export interface TriggerInput {
  readonly view: HeadView;
  /** Tokens of the window of the model that is asked next, or the smaller limit that an overflow error taught. */
  readonly window: number;
  /** Tokens of the last model call on this branch (input and output), and how many messages of the view they are. */
  readonly measured?: { readonly tokens: number; readonly messages: number };
  /** Estimated tokens of system text and tools. */
  readonly fixedTokens: number;
  /** Length of the view's messages when a compaction failed last. */
  readonly failedAt?: number;
}

export type Trigger =
  | { readonly kind: "fits"; readonly tokens: number }
  | { readonly kind: "compact"; readonly tokens: number }
  /** Full, but a compaction wins nothing or failed a moment ago: go on, and let the provider judge. */
  | { readonly kind: "rest"; readonly tokens: number }
  /** The user's newest message alone is larger than the window: nothing can be done but to say so, before dispatch. */
  | { readonly kind: "tooLarge"; readonly tokens: number; readonly message: HistoryId };

/** Whether the next model call fits: the last call's usage and an estimate of what is new, against the window. */
export function shouldCompact(input: TriggerInput): Trigger {
  const { view, window } = input;
  const { messages } = view;
  const measured =
    input.measured !== undefined && input.measured.messages <= messages.length
      ? input.measured
      : { tokens: input.fixedTokens, messages: 0 };
  const tokens = measured.tokens + messagesTokens(messages.slice(measured.messages));
  // all else can be summarised; what the user said last must stay as it is
  const newest = messages.findLast((message) => message.origin === "user");
  if (newest !== undefined && input.fixedTokens + messageTokens(newest) > window)
    return { kind: "tooLarge", tokens, message: newest.id };
  if (tokens < window * TRIGGER_SHARE) return { kind: "fits", tokens };
  return rests(input) ? { kind: "rest", tokens } : { kind: "compact", tokens };
}

function rests({ view, window, failedAt }: TriggerInput): boolean {
  const { messages, compactedTo } = view;
  if (failedAt !== undefined && messages.slice(failedAt).filter(isTurn).length < REST_TURNS) return true;
  return compactedTo > 0 && messagesTokens(messages.slice(compactedTo)) < window * GROWTH_SHARE;
}

function isTurn(message: CanonicalMessage): boolean {
  return message.origin === "user";
}

/**
 * The message from which the recent part is kept: as much as a fifth of the window holds, whole turns if at least one fits,
 * else whole steps; `undefined` when not even the last step does.
 */
export function keptFrom(view: HeadView, window: number): HistoryId | undefined {
  const { messages } = view;
  const room = window * TAIL_SHARE;
  let tokens = 0;
  let turn: HistoryId | undefined;
  let step: HistoryId | undefined;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined || isSummary(message)) break;
    tokens += messageTokens(message);
    if (tokens > room) break;
    if (message.role === "tool" || isContext(message)) continue;
    step = message.id;
    const before = messages[at - 1];
    if (message.role === "user" && (before === undefined || before.role !== "user" || isContext(before)))
      turn = message.id;
  }
  return turn ?? step;
}

export interface CompactionInput extends Place {
  /** The summary as the model wrote it, framed for the model that reads it. */
  readonly summary: string;
  /** All sections of the newest request context, manifests of rules, skills and MCP included; absent or empty: those that the branch has. */
  readonly context?: readonly ContextSection[];
  readonly window: number;
  /** Opening messages of the turn that goes on; they stay word for word. */
  readonly opening: readonly HistoryId[];
}

export interface Compacted {
  /** New rows: the context event and the summary. */
  readonly messages: readonly CanonicalMessage[];
  /** All rows that the node lists, in order, opening messages that it lists once more included. */
  readonly added: readonly CanonicalMessage[];
  readonly node: CheckpointNode;
}

/** The new prefix: request context, summary, then the kept tail. The old head stays where it is. */
export function compact(input: CompactionInput): Compacted {
  const { view, chain, runId } = input;
  const count = freeCount(input);
  const event = runEvent("compaction", runId, count - 1);
  const known = [...view.sections]
    .map(([name, text]) => ({ name, text }))
    .filter((section) => section.text !== emptySection(section.name));
  const sections = input.context === undefined || input.context.length === 0 ? known : input.context;
  const parts = contextParts(new Map(), sections);
  const context = parts === undefined ? [] : [contextMessage(event, parts, runId)];
  const summary: CanonicalMessage = {
    id: summaryId(runId, count),
    role: "user",
    origin: "runtime",
    content: { kind: "parts", parts: textParts(input.summary) },
    runId,
  };
  const kept = keptFrom(view, input.window);
  const from = kept === undefined ? view.messages.length : view.messages.findIndex((message) => message.id === kept);
  const before = new Set(input.opening);
  const again = view.messages.slice(0, from).filter((message) => before.has(message.id) && !isContext(message));
  const added = [...context, summary, ...again];
  const node = appendNode(chain, view.head, idsOf(added), {
    runId,
    compaction: { summaryId: summary.id, ...(kept === undefined ? {} : { keptFrom: kept }) },
  });
  return { messages: [...context, summary], added, node };
}

/** Which compaction of the Run this is on the branch, from 1. */
function freeCount({ chain, view, runId }: CompactionInput): number {
  let count = 1;
  while (branchHas(chain, view.head, summaryId(runId, count))) count += 1;
  return count;
}

function contextMessage(event: EventId, parts: readonly ContentPart[], runId: RunId): CanonicalMessage {
  return { id: contextId(event), role: "user", origin: "prompt", content: { kind: "parts", parts }, event, runId };
}
