import type { ConversationId, Failure, Generation } from "@chartroom/domain";
import type { EventKey, Known } from "./opening.ts";

/**
 * - `opening`: its opening message is with the conversation.
 * - `prewarmed`: it has no Run yet.
 * - `live`: it carries a Run whose end this process has not seen.
 * - `over`: its Run has ended, or it never got one.
 */
export type GenerationPhase = "opening" | "prewarmed" | "live" | "over";

/** How a generation without a Run ends; kept for a downlink that comes later. */
export type EndWithoutRun = { readonly kind: "finishedTurn" } | { readonly kind: "failed"; readonly failure: Failure };

/** One use of a request id, as this process knows it. */
export interface GenerationRecord {
  readonly generation: Generation;
  conversationId: ConversationId | undefined;
  phase: GenerationPhase;
  event: EventKey | undefined;
  readonly digests: string[];
  end: EndWithoutRun | undefined;
  /** A client has its terminal. */
  delivered: boolean;
  /** Opened by an earlier process, or forgotten since: only what the store says of it is known. */
  readonly adopted: boolean;
}

/** What a new opening is compared with; nothing is known of the event that opened an adopted generation. */
export function knownOf(record: GenerationRecord | undefined): Known | undefined {
  if (record === undefined || record.adopted) return undefined;
  return {
    generation: record.generation.generation,
    conversationId: record.conversationId,
    event: record.event,
    digests: record.digests,
    alive: record.phase === "opening" || record.phase === "live",
  };
}
