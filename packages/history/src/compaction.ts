import type { CanonicalMessage, CheckpointNode, HistoryId, RunId } from "@chartroom/domain";
import { appendNode } from "./chain.ts";
import { contextParts, type ContextSection } from "./context.ts";
import { contextId, runEvent, spaceOf, summaryId } from "./ids.ts";
import { idsOf, type Place, textParts } from "./opening.ts";
import { messagesTokens, messageTokens } from "./tokens.ts";
import { type HeadView, isContext, openCalls } from "./view.ts";

/** Share of the window at which a branch is compacted. */
export const TRIGGER_SHARE = 0.9;
/** Share of the window that the kept tail may take. */
const TAIL_SHARE = 0.2;
/** Messages that a branch must have grown by since its last compaction. */
const REST_MESSAGES = 6;

export interface TriggerInput {
  readonly view: HeadView;
  /** Tokens of the window of the model that is asked next, or the smaller limit that an overflow error taught. */
  readonly window: number;
  /** Room for the answer. */
  readonly maxOutputTokens: number;
  /** Tokens of the last model call on this branch (input and output), and the messages that it saw or made; undefined when unknown. */
  readonly measured?: { readonly tokens: number; readonly messages: number };
  /** Estimated tokens of system text and tools. */
  readonly fixedTokens: number;
  /** Messages of the view when it was last compacted; undefined when it never was. */
  readonly compactedAt?: number;
}

export type Trigger =
  | { readonly kind: "fits"; readonly tokens: number }
  | { readonly kind: "compact"; readonly tokens: number }
  /** Full, but it was compacted a moment ago: another compaction would win nothing. */
  | { readonly kind: "rest"; readonly tokens: number }
  /** One message alone is larger than the window: nothing can be done before dispatch but to say so. */
  | { readonly kind: "tooLarge"; readonly tokens: number; readonly message: HistoryId };

/** Whether the next model call fits. The last answer's usage counts, plus an estimate of what is new. */
export function shouldCompact(input: TriggerInput): Trigger {
  const { view, measured, window } = input;
  const { messages } = view;
  const tokens =
    measured === undefined || measured.messages > messages.length
      ? input.fixedTokens + messagesTokens(messages)
      : measured.tokens + messagesTokens(messages.slice(measured.messages));
  const giant = messages.find((message) => input.fixedTokens + messageTokens(message) > window);
  if (giant !== undefined) return { kind: "tooLarge", tokens, message: giant.id };
  const limit = Math.min(window * TRIGGER_SHARE, Math.max(window - input.maxOutputTokens, window / 2));
  if (tokens < limit) return { kind: "fits", tokens };
  const rested = input.compactedAt === undefined || messages.length - input.compactedAt >= REST_MESSAGES;
  return rested ? { kind: "compact", tokens } : { kind: "rest", tokens };
}

/**
 * The message from which the recent part is kept: as much as a fifth of the window holds, from a user's message or a whole
 * step on; `undefined` when not even the last step fits.
 */
export function keptFrom(view: HeadView, window: number): HistoryId | undefined {
  const { messages } = view;
  const room = window * TAIL_SHARE;
  let tokens = 0;
  let kept: HistoryId | undefined;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined || spaceOf(message.id)?.space === "summary") break;
    tokens += messageTokens(message);
    if (tokens > room) break;
    if (message.role !== "tool" && !isContext(message)) kept = message.id;
  }
  return kept;
}

export interface CompactionInput extends Place {
  /** The summary as the model wrote it, framed for the model that reads it. */
  readonly summary: string;
  /** All sections of the newest request context, manifests of rules, skills and MCP included. */
  readonly context: readonly ContextSection[];
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
  const event = runEvent("compaction", runId);
  const parts = contextParts(new Map(), input.context) ?? textParts("The client says nothing about its machine.");
  const context: CanonicalMessage = {
    id: contextId(event),
    role: "user",
    origin: "prompt",
    content: { kind: "parts", parts },
    event,
    runId,
  };
  const summary: CanonicalMessage = {
    id: summaryId(runId),
    role: "user",
    origin: "runtime",
    content: { kind: "parts", parts: textParts(input.summary) },
    runId,
  };
  const kept = keptFrom(view, input.window);
  const from = kept === undefined ? view.messages.length : view.messages.findIndex((message) => message.id === kept);
  const before = new Set(input.opening);
  const again = view.messages.slice(0, from).filter((message) => before.has(message.id) && !isContext(message));
  const added = [context, summary, ...again];
  const node = appendNode(chain, view.head, idsOf(added), {
    runId,
    compaction: { summaryId: summary.id, ...(kept === undefined ? {} : { keptFrom: kept }) },
  });
  return { messages: [context, summary], added, node };
}

/** Id of the summary that a Run makes; a Run that compacts finds by it that it has done so. */
export function summaryOf(runId: RunId): HistoryId {
  return summaryId(runId);
}

/** Whether a view can be compacted now: no call is open. */
export function canCompact(view: HeadView): boolean {
  return openCalls(view.messages).length === 0;
}
