import type { ModelBlock, ModelMessage, ModelPart, ModelToolResult } from "@chartroom/domain";

export type Group =
  | Exclude<ModelMessage, { readonly role: "tool" }>
  | { readonly role: "tool"; readonly results: readonly ModelToolResult[] };

/** Joins tool messages that follow each other: a vendor wants all results of a step in one place. */
export function groups(messages: readonly ModelMessage[]): readonly Group[] {
  const out: Group[] = [];
  for (const message of messages) {
    const last = out.at(-1);
    if (message.role === "tool" && last?.role === "tool") {
      out[out.length - 1] = { role: "tool", results: [...last.results, ...message.results] };
    } else out.push(message);
  }
  return out;
}

/** Thinking of another vendor, or without its replay state, as text that every model understands. */
export function thinkingAsText(text: string): string {
  return `<thinking>\n${text}\n</thinking>`;
}

export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** What stands for a picture where the model cannot see any. */
export function pictureAsText(mimeType: string): string {
  return `[A picture (${mimeType}) was here; this model cannot see pictures.]`;
}

export type Seen =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "picture"; readonly part: PicturePart };
export type PicturePart = Extract<ModelPart, { readonly type: "image" }>;

/** A part as a model with or without eyes gets it. */
export function seen(part: ModelPart, supportsImages: boolean): Seen {
  if (part.type === "text") return { kind: "text", text: part.text };
  return supportsImages ? { kind: "picture", part } : { kind: "text", text: pictureAsText(part.mimeType) };
}

/** The replay state of a thinking block, if this vendor made it; parsed, because a vendor's data is JSON. */
export function ownReplay(block: ModelBlock, vendor: string): unknown {
  if (block.type !== "thinking" || block.replay?.vendor !== vendor) return undefined;
  try {
    return JSON.parse(block.replay.data);
  } catch {
    return undefined;
  }
}
