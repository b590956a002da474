import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { InjectionState, Update, Usage } from "@chartroom/domain";
import { AgentServerMessageSchema } from "@chartroom/protocols/agent/v1/agent_service";
import type { ContextInjectionStateSchema } from "@chartroom/protocols/agent/v1/interaction_update";
import { wrap, wrapText } from "./bytes.ts";

/** Field numbers of what is written by hand (wire section 4.7): `interaction_update`, then the update, then its content. */
const UPDATE = 1;
const TEXT_DELTA = 1;
const THINKING_DELTA = 4;
const USER_MESSAGE_APPENDED = 6;

/** A serialized `AgentServerMessage` of any kind. */
export function encodeServerMessage(init: MessageInitShape<typeof AgentServerMessageSchema>): Uint8Array {
  return toBinary(AgentServerMessageSchema, create(AgentServerMessageSchema, init));
}

type InteractionInit = Extract<
  NonNullable<MessageInitShape<typeof AgentServerMessageSchema>["message"]>,
  { case: "interactionUpdate" }
>["value"]["message"];

function interaction(message: NonNullable<InteractionInit>): Uint8Array {
  return encodeServerMessage({ message: { case: "interactionUpdate", value: { message } } });
}

const HEARTBEAT = interaction({ case: "heartbeat", value: {} });

/**
 * A serialized `AgentServerMessage` with an interaction update. Text and thinking, which are nearly all of a stream, are
 * written by hand; the bytes are those of the generated code. Text with half a surrogate pair is mended, not refused.
 */
export function encodeUpdate(update: Update): Uint8Array {
  switch (update.kind) {
    case "text":
      return update.serverNotice === true || update.text === ""
        ? interaction({
            case: "textDelta",
            value: { text: update.text.toWellFormed(), isServerNotice: update.serverNotice === true },
          })
        : wrapText([UPDATE, TEXT_DELTA, 1], update.text);
    case "thinking":
      return update.text === ""
        ? interaction({ case: "thinkingDelta", value: {} })
        : wrapText([UPDATE, THINKING_DELTA, 1], update.text);
    case "thinkingCompleted":
      return interaction({ case: "thinkingCompleted", value: { thinkingDurationMs: int32(update.durationMs) } });
    case "tokens":
      return interaction({ case: "tokenDelta", value: { tokens: int32(update.tokens) } });
    case "heartbeat":
      return HEARTBEAT;
    case "turnEnded":
      return interaction({ case: "turnEnded", value: tokenCounts(update.usage) });
    case "summaryStarted":
      return interaction({ case: "summaryStarted", value: {} });
    case "summary":
      return interaction({ case: "summary", value: { summary: update.text.toWellFormed() } });
    case "summaryCompleted":
      return interaction({ case: "summaryCompleted", value: {} });
    case "userMessageAppended":
      return wrap([UPDATE, USER_MESSAGE_APPENDED, 1], update.message);
    case "injectionState":
      return interaction({
        case: "contextInjectionState",
        value: { injectionId: update.injectionId, state: { state: injectionState(update.state) } },
      });
    default:
      return update satisfies never;
  }
}

function injectionState(
  state: InjectionState,
): NonNullable<MessageInitShape<typeof ContextInjectionStateSchema>["state"]> {
  switch (state.kind) {
    case "queued":
      return { case: "queued", value: {} };
    case "delivered":
      return {
        case: "delivered",
        value: {
          step: int32(state.step),
          deliveryBatchId: state.batchId,
          deliveredAtMs: BigInt(Math.round(state.atMs)),
        },
      };
    case "queuedForNextTurn":
      return { case: "queuedForNextTurn", value: {} };
    case "cancelled":
      return { case: "cancelled", value: {} };
    case "rejected":
      return { case: "rejected", value: { reason: state.reason.toWellFormed() } };
    default:
      return state satisfies never;
  }
}

const COUNTS = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens"] as const;

function tokenCounts(usage: Usage): { readonly [name in (typeof COUNTS)[number]]?: bigint } {
  const known = COUNTS.flatMap((name) => {
    const count = usage[name];
    return count === undefined ? [] : [[name, BigInt(Math.max(0, Math.round(count)))] as const];
  });
  return Object.fromEntries(known);
}

/** Clocks and counters can be anything; a field of 32 bits cannot. */
function int32(value: number): number {
  return Math.min(Math.max(Math.round(value), 0), 0x7fffffff);
}
