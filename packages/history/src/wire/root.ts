import { toBase64 } from "@chartroom/protocol";
import type {
  AssistantBlock,
  AssistantRecord,
  BlobId,
  CanonicalMessage,
  ContentPart,
  ImagePart,
  ToolCallRecord,
  ToolResultRecord,
} from "@chartroom/domain";
import { spaceOf } from "../ids.ts";
import { defaultOrigin } from "./origin.ts";

/*
 * A root prompt message: one JSON object per blob (wire section 8.3). What canonical history holds and the wire has no
 * place for stands under `providerOptions.chartroom`, so that another server reads back the same message.
 */

/** `id` of the system message that this service compiled; a system message without it is a client's own. */
export const SYSTEM_ID = "prompt:system";

export type BlobLookup = (id: BlobId) => Uint8Array | undefined;

/** JSON of the compiled system text, index 0 of the root prompt messages. */
export function systemJson(text: string): string {
  return JSON.stringify({ role: "system", content: text, id: SYSTEM_ID });
}

/** JSON of a canonical message. Pictures that `image` does not give are put into `missing` and shown as a note. */
export function rootJson(message: CanonicalMessage, image: BlobLookup, missing: Set<BlobId>): string {
  const { content } = message;
  if (content.kind === "assistant") return JSON.stringify(assistantJson(content.record));
  if (content.kind === "toolResult") return JSON.stringify(toolJson(content.result, image, missing));
  if (message.role === "system") {
    const text = content.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    return JSON.stringify({ role: "system", content: text });
  }
  const usual = defaultOrigin(spaceOf(message.id)?.space);
  return JSON.stringify({
    role: "user",
    content: content.parts.map((part) => partJson(part, image, missing)),
    id: message.id,
    ...(message.origin === usual ? {} : own({ origin: message.origin })),
  });
}

/** The JSON object of a model pass, without pending marks. */
export function assistantJson(record: AssistantRecord): Record<string, unknown> {
  return {
    role: "assistant",
    content: [...record.blocks.map(blockJson), ...record.calls.map(callJson)],
    id: "1",
    providerOptions: {
      cursor: { modelProviderMessageId: record.modelCallId },
      chartroom: { step: record.step, ...(record.partial ? { partial: true } : {}) },
    },
  };
}

function blockJson(block: AssistantBlock): Record<string, unknown> {
  if (block.type === "text") return { type: "text", text: block.text };
  const { replay } = block;
  return {
    type: "reasoning",
    text: block.text,
    ...(replay === undefined ? {} : { signature: replay.data, ...own({ vendor: replay.vendor }) }),
  };
}

function callJson(call: ToolCallRecord, position: number): Record<string, unknown> {
  const args = parseObject(call.arguments);
  const notes = {
    ...(String(call.providerId) === String(call.id) ? {} : { providerId: call.providerId }),
    ...(call.index === position ? {} : { index: call.index }),
    ...(args !== undefined && JSON.stringify(args) === call.arguments ? {} : { argsText: call.arguments }),
    ...(call.argumentError === undefined ? {} : { argumentError: call.argumentError }),
  };
  return {
    type: "tool-call",
    toolCallId: call.id,
    toolName: call.name,
    args: args ?? {},
    ...(Object.keys(notes).length === 0 ? {} : own(notes)),
  };
}

function toolJson(result: ToolResultRecord, image: BlobLookup, missing: Set<BlobId>): Record<string, unknown> {
  const shown = result.image === undefined ? undefined : pictureData(result.image, image, missing);
  const part = {
    type: "tool-result",
    toolCallId: result.callId,
    toolName: result.toolName,
    result: result.text,
    ...(result.image === undefined || shown === undefined
      ? {}
      : {
          experimental_content: [
            { type: "text", text: result.text },
            { type: "image", data: shown, mimeType: result.image.mimeType, ...named(result.image) },
          ],
        }),
    ...(result.isError ? { isError: true } : {}),
    ...(result.interrupted === undefined ? {} : own({ interrupted: result.interrupted })),
  };
  return { role: "tool", content: [part], id: result.callId };
}

function partJson(part: ContentPart, image: BlobLookup, missing: Set<BlobId>): Record<string, unknown> {
  if (part.type === "text") return { type: "text", text: part.text };
  const data = pictureData(part, image, missing);
  if (data === undefined)
    return { type: "text", text: `[A picture (${part.mimeType}) was here; it is not stored any more.]` };
  return { type: "image", image: data, mimeType: part.mimeType, ...named(part) };
}

function pictureData(part: ImagePart, image: BlobLookup, missing: Set<BlobId>): string | undefined {
  const data = image(part.blob);
  if (data !== undefined) return toBase64(data);
  missing.add(part.blob);
  return undefined;
}

function named(part: ImagePart): { readonly name?: string } {
  return part.name === undefined ? {} : { name: part.name };
}

/** What is this service's own, apart from the fields that every reader knows. */
function own(notes: Record<string, unknown>): {
  readonly providerOptions: { readonly chartroom: Record<string, unknown> };
} {
  return { providerOptions: { chartroom: notes } };
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
