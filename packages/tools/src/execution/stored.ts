import type { ToolResultRecord } from "@chartroom/domain";
import type { CallCards } from "../native/tool.ts";
import { agent, fromBinary, type ToolVariant } from "../wire.ts";

/** The card that a stored result carries; `undefined` when it has none, or none that can be read. */
export function storedCall(result: ToolResultRecord): agent.ToolCall | undefined {
  if (result.display === undefined) return undefined;
  try {
    return fromBinary(agent.ToolCallSchema, result.display);
  } catch {
    return undefined;
  }
}

/** The card of a result of which only the text is known. */
export function cardOf({ text, isError }: ToolResultRecord, cards: CallCards): ToolVariant {
  return isError ? cards.failed(text) : cards.told(text);
}
