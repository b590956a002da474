import type { ModelBlock, ModelMessage, ModelPart, ModelToolResult } from "@chartroom/domain";
import { isObject } from "../http/error-body.ts";
import { isBlank, ownReplay, seen, thinkingAsText, type PicturePart } from "../neutral/messages.ts";
import { callId, toolName } from "../neutral/wire-name.ts";

/** A content block as the exact JSON text that is sent. */
export type Block = string;

/** A block of text; the vendor refuses a blank one. */
export function textBlock(text: string): Block {
  return JSON.stringify({ type: "text", text });
}

export function userBlocks(parts: readonly ModelPart[], images: boolean): readonly Block[] {
  const blocks = parts.flatMap((part): readonly Block[] => {
    const shown = seen(part, images);
    if (shown.kind === "picture") return [pictureBlock(shown.part)];
    return isBlank(shown.text) ? [] : [textBlock(shown.text)];
  });
  return blocks.length === 0 ? [textBlock("(no text)")] : blocks;
}

/**
 * Blocks of an assistant message: thinking and text in their order, then the calls. Thinking of this provider goes back byte
 * for byte with its signature. A message that ends in thinking would be refused (case HI-17), so thinking that neither text
 * nor a call follows goes as words.
 */
export function assistantBlocks(
  message: Extract<ModelMessage, { role: "assistant" }>,
  vendor: string,
): readonly Block[] {
  const lastWords = message.blocks.findLastIndex(
    (block) => !isBlank(block.text) && replayBlock(block, vendor) === undefined,
  );
  const blocks = message.blocks.flatMap((block, at): readonly Block[] => {
    const followed = message.calls.length > 0 || at < lastWords;
    const replayed = followed ? replayBlock(block, vendor) : undefined;
    if (replayed !== undefined) return [replayed];
    if (isBlank(block.text)) return [];
    return [textBlock(block.type === "text" ? block.text : thinkingAsText(block.text))];
  });
  const calls = message.calls.map((call) => {
    const head = JSON.stringify({ type: "tool_use", id: callId(call.id), name: toolName(call.name) });
    return `${head.slice(0, -1)},"input":${inputText(call.arguments)}}`;
  });
  return [...blocks, ...calls];
}

/** Whether a message begins with thinking that this provider will accept. */
export function beginsWithThinking(message: Extract<ModelMessage, { role: "assistant" }>, vendor: string): boolean {
  const first = message.blocks.find((block) => block.type === "thinking" || !isBlank(block.text));
  return first !== undefined && replayBlock(first, vendor) !== undefined;
}

export function resultBlocks(results: readonly ModelToolResult[], images: boolean): readonly Block[] {
  return results.map((result) => {
    const content: Block[] = [];
    if (!isBlank(result.text)) content.push(textBlock(result.text));
    if (result.image) content.push(...userBlocks([{ type: "image", ...result.image }], images));
    if (content.length === 0) content.push(textBlock("(no output)"));
    const head = JSON.stringify({
      type: "tool_result",
      tool_use_id: callId(result.callId),
      ...(result.isError && { is_error: true }),
    });
    return `${head.slice(0, -1)},"content":[${content.join(",")}]}`;
  });
}

function pictureBlock({ mimeType, base64 }: PicturePart): Block {
  return JSON.stringify({ type: "image", source: { type: "base64", media_type: mimeType, data: base64 } });
}

function replayBlock(block: ModelBlock, vendor: string): Block | undefined {
  const data = ownReplay(block, vendor);
  if (!isObject(data)) return undefined;
  if (typeof data["redacted"] === "string")
    return JSON.stringify({ type: "redacted_thinking", data: data["redacted"] });
  if (typeof data["signature"] !== "string") return undefined;
  return JSON.stringify({ type: "thinking", thinking: block.text, signature: data["signature"] });
}

/** The exact argument text, because numbers and keys would not survive a parser; the vendor wants an object. */
function inputText(text: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith("{") ? trimmed : JSON.stringify({ value: trimmed });
}
