import type {
  BackgroundCompletion,
  CanonicalMessage,
  CheckpointId,
  CheckpointNode,
  ContentPart,
  EventId,
  HistoryId,
  InjectionId,
  InputAnchor,
  RunId,
  UserMessage,
} from "@chartroom/domain";
import { appendNode, branchHas, type Chain } from "./chain.ts";
import { contextParts, type ContextSection } from "./context.ts";
import {
  completionId,
  contextId,
  eventId,
  injectionMessageId,
  inputDigest,
  runEvent,
  runtimeId,
  userMessageId,
} from "./ids.ts";
import type { HeadView } from "./view.ts";

/** Where messages are appended: all that is known of the conversation, and the branch head they follow. */
export interface Place {
  readonly chain: Chain;
  readonly view: HeadView;
  readonly runId: RunId;
}

/** Messages of one barrier, and the node that lists them. */
export interface Appended {
  readonly messages: readonly CanonicalMessage[];
  /** `undefined` when there is nothing to write. */
  readonly node: CheckpointNode | undefined;
}

/** A user message as the model will read it; `parts` are compiled by `prompting`. */
export interface UserInput {
  readonly message: UserMessage;
  readonly parts: readonly ContentPart[];
}

export interface TurnInput extends Place {
  readonly input: UserInput;
  /** Messages that were queued before it and are said in the same breath, first to last. */
  readonly prepend?: readonly UserInput[];
  /** All sections of the request context as they are now; `undefined` when the client gave none. */
  readonly context?: readonly ContextSection[];
  /** What the server tells the model for this turn (time, mode, reminders); frozen once it is written. */
  readonly runtime?: string;
  /** The user wants the same input once more at a place where it has been answered. */
  readonly again?: boolean;
}

export type TurnOpening =
  /** The rows of this event stand: continue from `head`; nothing is written. */
  | { readonly kind: "stands"; readonly event: EventId; readonly head: CheckpointId }
  | {
      readonly kind: "opened";
      readonly event: EventId;
      readonly node: CheckpointNode;
      readonly messages: readonly CanonicalMessage[];
      readonly anchors: readonly InputAnchor[];
    };

/**
 * Opens a turn on top of the view: request context (first or changed sections only), runtime message, queued messages,
 * user message. A retry of the same input at the same place finds its own rows again, context and time stamp included.
 * No call of the view may be open: close them with `interruptedResult` first.
 */
export function openTurn(turn: TurnInput): TurnOpening {
  const { chain, view, input } = turn;
  const { event, standing } = chooseEvent(turn);
  if (standing !== undefined) return { kind: "stands", event, head: standing };

  const messages: CanonicalMessage[] = [];
  const context = turn.context === undefined ? undefined : contextParts(view.sections, turn.context);
  if (context !== undefined) messages.push(made(contextId(event), "user", "prompt", context, turn.runId, event));
  if (turn.runtime !== undefined && turn.runtime !== "")
    messages.push(made(runtimeId(event), "user", "runtime", textParts(turn.runtime), turn.runId, event));

  const anchors: InputAnchor[] = [];
  for (const said of [...(turn.prepend ?? []), input]) {
    const own = said === input ? event : freeEvent(chain, view.head, said.message, messages);
    if (own === undefined) continue;
    messages.push(made(userMessageId(own), "user", "user", said.parts, turn.runId, own));
    anchors.push({ inputId: said.message.messageId, event: own, base: view.head });
  }
  const node = appendNode(chain, view.head, idsOf(messages), { runId: turn.runId });
  return { kind: "opened", event, node, messages, anchors };
}

/** The event of a user message at a place: its own, or, where the same input has been said elsewhere, the next use of it. */
function chooseEvent(turn: TurnInput): { readonly event: EventId; readonly standing?: CheckpointId } {
  const { chain, view } = turn;
  const { message } = turn.input;
  const digest = inputDigest(message);
  for (let use = 1; ; use += 1) {
    const event = eventId(message.messageId, digest, use);
    const id = userMessageId(event);
    if (!chain.listing.has(id)) return { event };
    if (view.head !== undefined && branchHas(chain, view.head, id)) {
      if (turn.again === true) continue;
      return { event, standing: view.head };
    }
    const opening = openingAt(chain, view.head, id);
    if (opening !== undefined) return { event, standing: opening };
  }
}

/** The node on top of `base` that opens the turn of this message. */
function openingAt(chain: Chain, base: CheckpointId | undefined, id: HistoryId): CheckpointId | undefined {
  return chain.listing.get(id)?.find((listing) => {
    const node = chain.nodes.get(listing);
    return node?.parent === base && node?.added.at(-1) === id;
  });
}

/** A queued message is said once per branch; one that is already on it is left out. */
function freeEvent(
  chain: Chain,
  head: CheckpointId | undefined,
  message: UserMessage,
  pending: readonly CanonicalMessage[],
): EventId | undefined {
  const digest = inputDigest(message);
  for (let use = 1; ; use += 1) {
    const event = eventId(message.messageId, digest, use);
    const id = userMessageId(event);
    if (branchHas(chain, head, id) || pending.some((earlier) => earlier.id === id)) return undefined;
    if (!chain.listing.has(id)) return event;
  }
}

/** What a resumed Run needs before the next model call: a word from the runtime where the head ends in an assistant message, else nothing. */
export function openResume(place: Place, text: string, step = 0): Appended {
  const last = place.view.messages.at(-1);
  if (last?.role !== "assistant") return { messages: [], node: undefined };
  const event = runEvent("resume", place.runId, step);
  return append(place, [made(runtimeId(event), "user", "runtime", textParts(text), place.runId, event)]);
}

/** A message of the runtime for an event of its own choosing; written once per branch. */
export function openRuntime(place: Place, event: EventId, text: string): Appended {
  return append(place, [made(runtimeId(event), "user", "runtime", textParts(text), place.runId, event)]);
}

/** A background task's completion. The same completion again writes nothing. */
export function openCompletion(place: Place, completion: BackgroundCompletion, text: string): Appended {
  return append(place, [made(completionId(completion), "user", "runtime", textParts(text), place.runId)]);
}

/** A message injected into a running turn, of the user or of a system producer. Never brings a request context of its own. */
export function openInjection(
  place: Place,
  injection: InjectionId,
  from: "user" | "system",
  parts: readonly ContentPart[],
): Appended {
  const origin = from === "user" ? "user" : "runtime";
  return append(place, [made(injectionMessageId(injection), "user", origin, parts, place.runId)]);
}

/** Appends messages with ids of their own; those that the branch has already are left out. */
export function append(place: Place, messages: readonly CanonicalMessage[]): Appended {
  const fresh = messages.filter((message) => !branchHas(place.chain, place.view.head, message.id));
  if (fresh.length === 0) return { messages: [], node: undefined };
  const node = appendNode(place.chain, place.view.head, idsOf(fresh), { runId: place.runId });
  return { messages: fresh, node };
}

export function idsOf(messages: readonly CanonicalMessage[]): readonly HistoryId[] {
  return messages.map((message) => message.id);
}

export function textParts(text: string): readonly ContentPart[] {
  return [{ type: "text", text }];
}

function made(
  id: HistoryId,
  role: "user",
  origin: CanonicalMessage["origin"],
  parts: readonly ContentPart[],
  runId: RunId,
  event?: EventId,
): CanonicalMessage {
  return { id, role, origin, content: { kind: "parts", parts }, ...(event === undefined ? {} : { event }), runId };
}
