import { blobId, fromBase64 } from "@chartroom/protocol";
import type {
  AssistantBlock,
  AssistantRecord,
  Blob,
  BlobId,
  CanonicalMessage,
  ContentPart,
  EventId,
  HistoryId,
  ImagePart,
  InterruptReason,
  MessageOrigin,
  ModelCallId,
  ProviderCallId,
  ToolCallId,
  ToolCallRecord,
  ToolResultRecord,
} from "@chartroom/domain";
import { digestOf } from "../digest.ts";
import { importedId, spaceOf } from "../ids.ts";
import type { Problem, ProblemKind } from "../problem.ts";
import { defaultOrigin } from "./origin.ts";
import { isObject, rootJson, SYSTEM_ID } from "./root.ts";

/** What one root prompt message holds. */
export interface RootRead {
  /** Usually one; several results in one tool message become several. */
  readonly messages: readonly CanonicalMessage[];
  /** The compiled system text of this service: nothing of the history. */
  readonly system: boolean;
  /** Pictures that stood in it. */
  readonly images: readonly Blob[];
  readonly problems: readonly Problem[];
}

/** Reads the JSON of a root prompt message, in our own form or in that of any other writer (wire section 8.3). */
export function readRoot(text: string, blob: BlobId, position: number): RootRead {
  const imported = importedId(position, blob);
  const notes: ProblemKind[] = [];
  const images = new Map<BlobId, Blob>();
  const found = (messages: readonly CanonicalMessage[], system = false): RootRead => ({
    messages,
    system,
    images: [...images.values()],
    problems: notes.map((kind) => ({ kind, message: imported })),
  });

  const json = parse(text);
  if (!isObject(json)) {
    notes.push("unreadable-message");
    return found([]);
  }
  const reader = partReader(notes, images);
  switch (json["role"]) {
    case "system": {
      if (json["id"] === SYSTEM_ID) return found([], true);
      const parts = reader.parts(json["content"]);
      return found([{ id: imported, role: "system", origin: "prompt", content: { kind: "parts", parts } }]);
    }
    case "user":
      return found([readUser(json, text, imported, reader.parts(json["content"]), images)]);
    case "assistant": {
      const record = reader.assistant(json, blob);
      return found([{ id: imported, role: "assistant", origin: "assistant", content: { kind: "assistant", record } }]);
    }
    case "tool": {
      const results = reader.results(json["content"]);
      return found(
        results.map((result, part) => ({
          id: importedId(position, blob, part),
          role: "tool",
          origin: "tool",
          content: { kind: "toolResult", result },
        })),
      );
    }
    default:
      notes.push("unreadable-message");
      return found([]);
  }
}

/** A user message of our own keeps its id, if writing it again gives the very same text; any other gets an imported one. */
function readUser(
  json: Record<string, unknown>,
  text: string,
  imported: HistoryId,
  parts: readonly ContentPart[],
  images: ReadonlyMap<BlobId, Blob>,
): CanonicalMessage {
  const id = stringOf(json["id"]);
  const space = spaceOf(id);
  const origin = (ownNotes(json)["origin"] ?? defaultOrigin(space?.space)) as MessageOrigin;
  if (space !== undefined && ORIGINS.has(origin)) {
    const evented = space.space === "user-message" || space.space === "request-context" || space.space === "runtime";
    const message: CanonicalMessage = {
      id: id as HistoryId,
      role: "user",
      origin,
      content: { kind: "parts", parts },
      ...(evented ? { event: space.rest as EventId } : {}),
    };
    if (rootJson(message, (blob) => images.get(blob)?.data, new Set()) === text) return message;
  }
  return { id: imported, role: "user", origin: "user", content: { kind: "parts", parts } };
}

const ORIGINS: ReadonlySet<string> = new Set<MessageOrigin>(["user", "prompt", "runtime"]);

export interface PartReader {
  parts(content: unknown): readonly ContentPart[];
  assistant(json: Record<string, unknown>, blob: string): AssistantRecord;
  results(content: unknown): readonly ToolResultRecord[];
}

export function partReader(notes: ProblemKind[], images: Map<BlobId, Blob>): PartReader {
  const picture = (data: unknown, part: Record<string, unknown>): ImagePart | undefined => {
    const text = stringOf(data);
    const url = /^data:(?<type>[^;,]+);base64,(?<data>.*)$/su.exec(text)?.groups;
    if (text === "" || /^[a-z]+:\/\//u.test(text)) {
      notes.push("unreadable-part");
      return undefined;
    }
    const bytes = fromBase64(url?.["data"] ?? text);
    const blob = blobId(bytes);
    images.set(blob, { id: blob, data: bytes });
    const mimeType = stringOf(part["mimeType"]) || stringOf(part["mediaType"]) || url?.["type"] || "image/png";
    const name = stringOf(part["name"]);
    return { type: "image", blob, mimeType, ...(name === "" ? {} : { name }) };
  };

  return {
    parts(content) {
      if (typeof content === "string") return [{ type: "text", text: content }];
      return objects(content).flatMap((part): readonly ContentPart[] => {
        if (part["type"] === "text") return [{ type: "text", text: stringOf(part["text"]) }];
        const image = part["type"] === "image" ? picture(part["image"] ?? part["data"], part) : undefined;
        if (image === undefined && part["type"] !== "image") notes.push("unreadable-part");
        return image === undefined ? [] : [image];
      });
    },

    assistant(json, blob) {
      const blocks: AssistantBlock[] = [];
      const calls: ToolCallRecord[] = [];
      const content = json["content"];
      const parts = typeof content === "string" ? [{ type: "text", text: content }] : objects(content);
      for (const part of parts) {
        if (part["type"] === "tool-call") {
          calls.push(readCall(part, calls.length, blob));
          continue;
        }
        const block = readBlock(part);
        if (block === undefined) notes.push("unreadable-part");
        else blocks.push(block);
        if (block !== undefined && calls.length > 0) notes.push("text-after-call");
      }
      const cursor = optionsOf(json)["cursor"];
      const pass = stringOf(isObject(cursor) ? cursor["modelProviderMessageId"] : undefined);
      const notesOfOurs = ownNotes(json);
      return {
        blocks,
        calls,
        modelCallId: (pass === "" ? `imported_${blob.slice(0, 24)}` : pass) as ModelCallId,
        step: typeof notesOfOurs["step"] === "number" ? notesOfOurs["step"] : 0,
        partial: notesOfOurs["partial"] === true,
      };
    },

    results(content) {
      return objects(content).flatMap((part): readonly ToolResultRecord[] => {
        if (part["type"] !== "tool-result") {
          notes.push("unreadable-part");
          return [];
        }
        const rich = objects(part["experimental_content"]);
        const shown = rich.find((item) => item["type"] === "image");
        const image = shown === undefined ? undefined : picture(shown["data"] ?? shown["image"], shown);
        const interrupted = ownNotes(part)["interrupted"];
        return [
          {
            callId: stringOf(part["toolCallId"]) as ToolCallId,
            toolName: stringOf(part["toolName"]),
            text: resultText(part, rich),
            isError: part["isError"] === true,
            ...(image === undefined ? {} : { image }),
            ...(REASONS.has(interrupted as string) ? { interrupted: interrupted as InterruptReason } : {}),
          },
        ];
      });
    },
  };
}

const REASONS: ReadonlySet<string> = new Set<InterruptReason>([
  "user-message",
  "cancelled",
  "superseded",
  "parked-expired",
  "deadline",
  "failed",
]);

function resultText(part: Record<string, unknown>, rich: readonly Record<string, unknown>[]): string {
  if (typeof part["result"] === "string") return part["result"];
  const output = part["output"];
  const value = part["result"] ?? (isObject(output) && "value" in output ? output["value"] : output);
  const texts = rich.filter((item) => item["type"] === "text").map((item) => stringOf(item["text"]));
  if (texts.length > 0) return texts.join("\n");
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}

function readBlock(part: Record<string, unknown>): AssistantBlock | undefined {
  const text = stringOf(part["text"]);
  if (part["type"] === "text") return { type: "text", text };
  if (part["type"] !== "reasoning" && part["type"] !== "redacted-reasoning") return undefined;
  const signature = part["signature"] ?? part["data"];
  if (typeof signature !== "string" || signature === "") return { type: "thinking", text };
  const vendor = stringOf(ownNotes(part)["vendor"]);
  const cursor = optionsOf(part)["cursor"];
  const model = stringOf(isObject(cursor) ? cursor["modelName"] : undefined);
  // a signature in another server's form goes back to nobody: only the adapter that made it can read it
  return { type: "thinking", text, replay: { vendor: vendor === "" ? `foreign:${model}` : vendor, data: signature } };
}

function readCall(part: Record<string, unknown>, position: number, blob: string): ToolCallRecord {
  const notes = ownNotes(part);
  const args = part["args"] ?? part["input"];
  const text = typeof args === "string" ? args : args === undefined ? "" : JSON.stringify(args);
  const given = stringOf(part["toolCallId"]);
  const id = given === "" ? `call_${digestOf(`${blob} ${position}`, 24)}` : given;
  const argumentError = notes["argumentError"];
  return {
    id: id as ToolCallId,
    providerId: (stringOf(notes["providerId"]) || id) as ProviderCallId,
    index: typeof notes["index"] === "number" ? notes["index"] : position,
    name: stringOf(part["toolName"]),
    arguments: typeof notes["argsText"] === "string" ? notes["argsText"] : text,
    ...(typeof argumentError === "string" ? { argumentError } : {}),
  };
}

function objects(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function optionsOf(json: Record<string, unknown>): Record<string, unknown> {
  return isObject(json["providerOptions"]) ? json["providerOptions"] : {};
}

function ownNotes(json: Record<string, unknown>): Record<string, unknown> {
  const notes = optionsOf(json)["chartroom"];
  return isObject(notes) ? notes : {};
}

export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
