import type { CanonicalMessage } from "@chartroom/domain";
import { isContext } from "./view.ts";
import { textTokens } from "./tokens.ts";

/** Shares of an over-long item that stay: its beginning and its end. */
const HEAD = 0.7;

/**
 * A history as plain text, for a summary: no tools, no reasoning state, no pictures, so that every model can read it. Made to
 * fit `maxTokens`: first long tool results are shortened, then the oldest entries left out.
 */
export function transcript(messages: readonly CanonicalMessage[], maxTokens: number): string {
  for (const longest of [16_000, 4_000, 1_000]) {
    const entries = messages.filter((message) => !isContext(message)).map((message) => entry(message, longest));
    const text = entries.join("\n\n");
    if (textTokens(text) <= maxTokens) return text;
    if (longest === 1_000) return newest(entries, maxTokens);
  }
  return "";
}

function newest(entries: readonly string[], maxTokens: number): string {
  const kept: string[] = [];
  let tokens = 32;
  for (const text of entries.toReversed()) {
    tokens += textTokens(text) + 2;
    if (tokens > maxTokens) break;
    kept.push(text);
  }
  const left = entries.length - kept.length;
  return [...(left > 0 ? [`[${left} earlier entries are left out.]`] : []), ...kept.toReversed()].join("\n\n");
}

function entry(message: CanonicalMessage, longest: number): string {
  const { content } = message;
  if (content.kind === "toolResult")
    return `[result of ${content.result.toolName}${content.result.isError ? ", error" : ""}]\n${shorten(content.result.text, longest)}`;
  if (content.kind === "parts") {
    const text = content.parts.map((part) => (part.type === "text" ? part.text : "[picture]")).join("\n");
    return `[${message.origin === "user" ? "user" : "server"}]\n${shorten(text, longest * 4)}`;
  }
  const said = content.record.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const calls = content.record.calls.map((call) => `-> ${call.name} ${shorten(call.arguments, longest)}`);
  return `[assistant]\n${[...said, ...calls].join("\n")}`;
}

function shorten(text: string, longest: number): string {
  const whole = text.toWellFormed();
  if (whole.length <= longest) return whole;
  const head = Math.floor(longest * HEAD);
  return `${whole.slice(0, head)}\n[...]\n${whole.slice(whole.length - (longest - head))}`.toWellFormed();
}
