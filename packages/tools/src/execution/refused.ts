import type { ToolCallRecord, ToolExecution } from "@chartroom/domain";
import { completedFrame, toolCall, type CallIdentity } from "../cards/frames.ts";
import { buildResult } from "./result.ts";
import type { CallCards } from "../native/tool.ts";
import { cardOf, storedCall } from "./stored.ts";
import { interruptedText } from "./texts.ts";

/**
 * A call that is not carried out (an unknown tool, arguments that do not fit): it settles as a tool error when it begins.
 * It never starts on the wire, since clients take a started call as one that runs; its bubble, if any, is only completed.
 */
export function refusedExecution(
  record: ToolCallRecord,
  identity: CallIdentity,
  text: string,
  cards: CallCards,
): ToolExecution {
  let settled = false;
  const settle = (why: string, atMs: number, extras: Parameters<typeof buildResult>[2] = {}) => {
    if (settled) return [];
    settled = true;
    const outcome = { text: why, isError: true, tool: cards.failed(why) };
    const built = buildResult(record, outcome, { completedAtMs: atMs, ...extras });
    const completed = completedFrame(identity, built.call);
    return [{ type: "settled", result: built.result, completed, blobs: built.blobs } as const];
  };
  return {
    callId: identity.callId,
    begin: (atMs) => settle(text, atMs),
    reissue: () => [],
    reply: () => [],
    control: () => [],
    answer: () => [],
    expire: () => [],
    interrupt: (reason, atMs) => settle(interruptedText(reason, false), atMs, { interrupted: reason }),
    accept(result, atMs) {
      if (settled) return [];
      settled = true;
      const call = storedCall(result) ?? toolCall(cardOf(result, cards), record.id, { completedAtMs: atMs });
      return [{ type: "settled", result, completed: completedFrame(identity, call), blobs: [] }];
    },
  };
}
