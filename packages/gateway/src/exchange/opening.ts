import type { Action, Binding, ConversationId, Failure, RunRequest } from "@chartroom/domain";
import { FAILURES } from "../failures.ts";

/** What tells one Run request from another on the wire. */
export interface EventKey {
  readonly messageId: string | undefined;
  readonly wireRunId: string | undefined;
}

/** A message that opens a generation, or a repeat of one. */
export interface Incoming {
  readonly kind: "run" | "prewarm";
  readonly conversationId: ConversationId | undefined;
  readonly event: EventKey;
  /** Of the bytes as they came. */
  readonly digest: string;
}

/** The newest generation of a request id, as this process saw it open. */
export interface Known {
  readonly generation: number;
  /** Absent when its opening was refused. */
  readonly conversationId: ConversationId | undefined;
  /** Absent while only a prewarm opened it. */
  readonly event: EventKey | undefined;
  /** Of its prewarm and its Run request. */
  readonly digests: readonly string[];
  readonly alive: boolean;
}

export type OpeningDecision =
  /** The next generation: its own sequence, an empty output. */
  | { readonly kind: "begin"; readonly generation: number; readonly conversationId: ConversationId }
  /** The Run request of a generation that a prewarm opened. */
  | { readonly kind: "continue"; readonly conversationId: ConversationId }
  /** The same event again: nothing happens, the answer is that of the first time. */
  | { readonly kind: "repeat" }
  | { readonly kind: "refuse"; readonly failure: Failure };

/**
 * What a Run request or prewarm means for its request id (lifecycle specification, section 2). `binding` is what the
 * store knows; where both know the newest generation, the store says whether its Run still lives.
 */
export function decideOpening(
  incoming: Incoming,
  known: Known | undefined,
  binding: Binding | undefined,
): OpeningDecision {
  const bound = known?.conversationId ?? binding?.conversationId;
  const conversationId = incoming.conversationId ?? bound;
  if (conversationId === undefined) return { kind: "refuse", failure: FAILURES.noConversation };
  if (bound !== undefined && bound !== conversationId) return { kind: "refuse", failure: FAILURES.conflict };
  const begin: OpeningDecision = {
    kind: "begin",
    generation: Math.max(known?.generation ?? 0, binding?.generation ?? 0) + 1,
    conversationId,
  };
  if (known === undefined || (binding?.generation ?? 0) > known.generation) return begin;
  if (known.digests.includes(incoming.digest)) return { kind: "repeat" };
  if (known.event === undefined && known.conversationId !== undefined) {
    return incoming.kind === "run" ? { kind: "continue", conversationId } : { kind: "repeat" };
  }
  const alive = binding?.generation === known.generation ? binding.live : known.alive;
  if (!alive || known.event === undefined) return begin;
  if (incoming.kind === "prewarm") return { kind: "repeat" };
  switch (compare(known.event, incoming.event)) {
    case "same":
      return { kind: "repeat" };
    case "other":
      return begin;
    case "unknown":
      return { kind: "refuse", failure: FAILURES.ambiguous };
  }
}

function compare(a: EventKey, b: EventKey): "same" | "other" | "unknown" {
  if (a.messageId !== b.messageId || a.wireRunId !== b.wireRunId) return "other";
  return a.messageId === undefined && a.wireRunId === undefined ? "unknown" : "same";
}

/** The ids of a Run request that tell it from another one. */
export function eventKey(request: RunRequest): EventKey {
  return { messageId: messageIdOf(request.action), wireRunId: request.wireRunId };
}

function messageIdOf(action: Action): string | undefined {
  switch (action.kind) {
    case "userMessage":
    case "startPlan":
    case "executePlan":
      return action.message.messageId;
    case "resume":
    case "cancel":
    case "summarize":
    case "asyncAnswer":
    case "cancelSubagent":
    case "backgroundCompletion":
    case "inject":
    case "unsupported":
      return undefined;
  }
}
