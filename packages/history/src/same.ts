import type { CanonicalMessage, ToolCallRecord } from "@chartroom/domain";
import { spaceOf } from "./ids.ts";

/** What the server added on its own: a client that rebuilds its history does not send it back. */
export function isHidden(message: CanonicalMessage): boolean {
  const space = spaceOf(message.id)?.space;
  return message.role === "system" || space === "request-context" || space === "runtime" || space === "summary";
}

/** Whether two messages say the same, whoever wrote them down. */
export function saysSame(a: CanonicalMessage, b: CanonicalMessage | undefined): boolean {
  if (b === undefined || a.role !== b.role) return false;
  if (a.content.kind === "assistant" && b.content.kind === "assistant") {
    const left = a.content.record;
    const right = b.content.record;
    return (
      shownText(left.blocks) === shownText(right.blocks) &&
      left.calls.length === right.calls.length &&
      left.calls.every((call, at) => sameCall(call, right.calls[at]))
    );
  }
  if (a.content.kind === "toolResult" && b.content.kind === "toolResult") {
    // a call has one result for ever: the same id is the same result, however the client writes it down
    if (a.content.result.callId === b.content.result.callId) return true;
    return (
      a.content.result.toolName === b.content.result.toolName &&
      a.content.result.text.trim() === b.content.result.text.trim()
    );
  }
  if (a.content.kind === "parts" && b.content.kind === "parts") return saidText(a) === saidText(b);
  return false;
}

/** Whether a client that keeps text alone means this message: an answer without its calls, or a result as a user's text. */
export function saysFlattened(said: CanonicalMessage, mine: CanonicalMessage | undefined): boolean {
  if (mine?.content.kind === "toolResult" && said.role === "user")
    return saidText(said) === `[Tool Result]\n${mine.content.result.text}`.trim();
  if (mine?.content.kind !== "assistant" || said.content.kind !== "assistant") return false;
  const { calls, blocks } = mine.content.record;
  return (
    calls.length > 0 &&
    said.content.record.calls.length === 0 &&
    shownText(said.content.record.blocks) === shownText(blocks)
  );
}

/** A round that shows no text: a client that keeps text alone has nothing of it but the results. */
export function isSilentRound(message: CanonicalMessage): boolean {
  const { content } = message;
  return content.kind === "assistant" && content.record.calls.length > 0 && shownText(content.record.blocks) === "";
}

function shownText(blocks: readonly { readonly type: string; readonly text: string }[]): string {
  return blocks
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("")
    .trim();
}

/** The user's own words: the last text part; what the server put before them is not the client's to repeat. */
function saidText(message: CanonicalMessage): string {
  if (message.content.kind !== "parts") return "";
  const texts = message.content.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return (message.role === "user" && message.origin === "user" ? (texts.at(-1) ?? "") : texts.join("\n")).trim();
}

function sameCall(a: ToolCallRecord, b: ToolCallRecord | undefined): boolean {
  if (b === undefined || a.name !== b.name) return false;
  if (a.arguments === b.arguments) return true;
  try {
    return sorted(JSON.parse(a.arguments)) === sorted(JSON.parse(b.arguments));
  } catch {
    return false;
  }
}

/** JSON of a value with its keys in order, for comparing. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
