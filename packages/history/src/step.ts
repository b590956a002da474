import type {
  AssistantRecord,
  CanonicalMessage,
  InterruptReason,
  RunId,
  ToolCallRecord,
  ToolResultRecord,
} from "@chartroom/domain";
import { assistantId, toolMessageId } from "./ids.ts";
import { append, type Appended, type Place } from "./opening.ts";

/** Appends what one model pass gave. A partial record (interrupt, crash, failure) may hold no calls: close or drop them first. */
export function appendStep(place: Place, record: AssistantRecord): Appended {
  return append(place, [assistantMessage(place.runId, record)]);
}

/** Appends results in the order in which they are given, which is the order of their commit. */
export function appendResults(place: Place, results: readonly ToolResultRecord[]): Appended {
  return append(
    place,
    results.map((result) => toolMessage(place.runId, result)),
  );
}

/** The canonical message of a model pass. */
export function assistantMessage(runId: RunId, record: AssistantRecord): CanonicalMessage {
  const partial = record.partial ? JSON.stringify([record.blocks, record.calls]) : undefined;
  return {
    id: assistantId(runId, record.step, partial),
    role: "assistant",
    origin: "assistant",
    content: { kind: "assistant", record },
    runId,
  };
}

/** The canonical message of a call's result. */
export function toolMessage(runId: RunId, result: ToolResultRecord): CanonicalMessage {
  return {
    id: toolMessageId(result.callId),
    role: "tool",
    origin: "tool",
    content: { kind: "toolResult", result },
    runId,
  };
}

const INTERRUPTED: Record<InterruptReason, string> = {
  "user-message": "The call was stopped because the user sent a new message.",
  cancelled: "The call was stopped because the user cancelled the turn.",
  superseded: "The call was stopped because a newer request took the turn's place.",
  "parked-expired": "The call was given up: the client did not come back in time.",
  deadline: "The call was given up: no answer came in time.",
  failed: "The call was given up because the turn failed.",
};
const MAYBE = "It may have taken effect in part; look before you repeat it.";

/** The result that closes a call which got none. */
export function interruptedResult(call: ToolCallRecord, reason: InterruptReason): ToolResultRecord {
  return {
    callId: call.id,
    toolName: call.name,
    text: `${INTERRUPTED[reason]} ${MAYBE}`,
    isError: true,
    interrupted: reason,
  };
}
