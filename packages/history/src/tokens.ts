import type { CanonicalMessage, ContentPart, ToolDefinition } from "@chartroom/domain";
import { RESULT_LIMIT } from "./cut.ts";

/*
 * An estimate without a tokenizer, the same on every node. Weights per kind of character, in 1/100 tokens, set so that it
 * is rather too high than too low for prose, code and JSON in the usual byte-pair vocabularies.
 */
const LETTER = 23;
const DIGIT = 50;
const BLANK = 12;
const MARK = 55;
const LATIN = 50;
const WIDE = 110;
/** What a message or part costs beside its text. */
const FRAME = 4;
/** A picture, whatever its size: the common upper bound of the vendors at full resolution. */
const IMAGE = 1_600;

/** Long texts that come again and again: system texts, one per mode and tool set. */
const LONG = 4_000;
const MOST = 32;
const counted = new Map<string, number>();

/** Estimated tokens of a text. */
export function textTokens(text: string): number {
  if (text.length < LONG) return count(text);
  const before = counted.get(text);
  if (before !== undefined) return before;
  const tokens = count(text);
  if (counted.size >= MOST) counted.clear();
  counted.set(text, tokens);
  return tokens;
}

function count(text: string): number {
  let weight = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if ((unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a)) weight += LETTER;
    else if (unit === 0x20 || unit === 0x0a || unit === 0x09 || unit === 0x0d) weight += BLANK;
    else if (unit >= 0x30 && unit <= 0x39) weight += DIGIT;
    else if (unit < 0x80) weight += MARK;
    else weight += unit < 0x08_00 ? LATIN : WIDE;
  }
  return Math.ceil(weight / 100);
}

const known = new WeakMap<CanonicalMessage, number>();

/** Estimated tokens of a message as it is projected; kept per message object. */
export function messageTokens(message: CanonicalMessage): number {
  const before = known.get(message);
  if (before !== undefined) return before;
  const tokens = FRAME + contentTokens(message);
  known.set(message, tokens);
  return tokens;
}

function contentTokens({ content }: CanonicalMessage): number {
  if (content.kind === "parts") return sum(content.parts, partTokens);
  if (content.kind === "assistant") {
    const { blocks, calls } = content.record;
    return (
      sum(blocks, (block) => FRAME + textTokens(block.text)) +
      sum(calls, (call) => 2 * FRAME + textTokens(call.name) + textTokens(call.arguments))
    );
  }
  const { text, image } = content.result;
  // a longer result is cut, and costs no more than that
  return FRAME + textTokens(text.slice(0, RESULT_LIMIT)) + (image === undefined ? 0 : IMAGE);
}

function partTokens(part: ContentPart): number {
  return part.type === "text" ? FRAME + textTokens(part.text) : IMAGE;
}

export function messagesTokens(messages: readonly CanonicalMessage[]): number {
  return sum(messages, messageTokens);
}

const tools = new WeakMap<ToolDefinition, number>();

/** Estimated tokens of a tool definition; kept per object, since native tools are the same in each Run. */
export function toolTokens(tool: ToolDefinition): number {
  const before = tools.get(tool);
  if (before !== undefined) return before;
  const tokens =
    2 * FRAME + textTokens(tool.name) + textTokens(tool.description) + textTokens(JSON.stringify(tool.inputSchema));
  tools.set(tool, tokens);
  return tokens;
}

export function sum<T>(items: readonly T[], of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}
