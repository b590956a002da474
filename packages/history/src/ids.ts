import type {
  Attachment,
  BackgroundCompletion,
  BlobId,
  CheckpointId,
  EventId,
  HistoryId,
  InjectionId,
  ModelCallId,
  RunId,
  ToolCallId,
  UserMessage,
} from "@chartroom/domain";
import { digestOf } from "./digest.ts";

/*
 * Every id of history is made here, from what it stands for: the same thing has the same id on every node and after every
 * restart, and each name space has one maker.
 */

const DIGEST_LENGTH = 32;

/** Digest of what a user said: text, attachments and mode. The request context is not in it: a changed git status is no edit. */
export function inputDigest(message: Pick<UserMessage, "text" | "textBlob" | "mode" | "attachments">): string {
  const said = [message.text, message.textBlob ?? null, message.mode, message.attachments.map(attachmentKey)];
  return digestOf(JSON.stringify(said), DIGEST_LENGTH);
}

function attachmentKey(attachment: Attachment): readonly unknown[] {
  if (attachment.type === "image") return ["image", attachment.blob, attachment.mimeType, attachment.name ?? null];
  if (attachment.type === "file") return ["file", attachment.path, attachment.content];
  if (attachment.type === "note") return ["note", attachment.label, attachment.content];
  return ["selection", attachment.path, attachment.content, attachment.startLine, attachment.endLine];
}

/**
 * Event of an input. `use` tells apart the uses of one input with the same content: a second place of the chain at which
 * it is said again is another event; the first is 1.
 */
export function eventId(inputId: string, digest: string, use = 1): EventId {
  return `${inputId}.${digest}${use > 1 ? `.${use}` : ""}` as EventId;
}

/** The input id in an event id; `undefined` when the text is not an event of an input. */
export function inputOfEvent(event: string): string | undefined {
  return /^(?<input>.*)\.[0-9a-f]{32}(?:\.\d+)?$/su.exec(event)?.groups?.["input"];
}

export const userMessageId = (event: EventId): HistoryId => `user-message:${event}` as HistoryId;
export const contextId = (event: EventId): HistoryId => `request-context:${event}` as HistoryId;
export const runtimeId = (event: EventId): HistoryId => `runtime:${event}` as HistoryId;
export const injectionMessageId = (injection: InjectionId): HistoryId => `inject-context:${injection}` as HistoryId;

/** A Run that compacts more than once counts its summaries. */
export function summaryId(run: RunId, count = 1): HistoryId {
  return `summary:${run}${count > 1 ? `:${count}` : ""}` as HistoryId;
}

export const toolMessageId = (call: ToolCallId): HistoryId => `tool:${call}` as HistoryId;

/** `background-completed:<kind>:<child>:<call>`; progress reports of one task differ by their text. */
export function completionId(completion: BackgroundCompletion): HistoryId {
  const child = completion.subagentId ?? completion.taskId;
  const progress = completion.status === "progress" ? `:${digestOf(completion.detail, 16)}` : "";
  return `background-completed:${completion.taskKind}:${child}:${completion.callId ?? ""}${progress}` as HistoryId;
}

/** The assistant message of a Step. A pass that did not end by itself is another message than the pass that follows it. */
export function assistantId(run: RunId, step: number, partial?: string): HistoryId {
  return `assistant:${run}:${step}${partial === undefined ? "" : `:partial-${digestOf(partial, 16)}`}` as HistoryId;
}

/** The internal id of a call: unique in its conversation, and of a form that every provider takes. */
export function toolCallId(run: RunId, step: number, index: number): ToolCallId {
  return `call_${digestOf(JSON.stringify([run, step, index]), 24)}` as ToolCallId;
}

/** Groups the calls of one model pass; an attempt that is repeated is another pass. */
export function modelCallId(run: RunId, step: number, attempt: number): ModelCallId {
  return `pass_${digestOf(JSON.stringify([run, step, attempt]), 24)}` as ModelCallId;
}

/** The event of what a Run says on its own account (a compaction, a resume). */
export function runEvent(what: "compaction" | "resume", run: RunId, step = 0): EventId {
  return `${what}:${run}${step > 0 ? `:${step}` : ""}` as EventId;
}

/** A message that a client brought: its blob and its place among the root prompt messages. `part` counts what one blob holds. */
export function importedId(position: number, blob: BlobId, part = 0): HistoryId {
  return `imported:${position}${part > 0 ? `.${part}` : ""}:${blob}` as HistoryId;
}

/** A message that a client brought as plain text, without a blob of its own. */
export function plainId(position: number, content: string): HistoryId {
  return `plain:${position}:${digestOf(content, DIGEST_LENGTH)}` as HistoryId;
}

/** Blob and part of an imported message; `undefined` for every other. */
export function importedFrom(id: HistoryId): { readonly blob: BlobId; readonly part: number } | undefined {
  const groups = /^imported:\d+(?:\.(?<part>\d+))?:(?<blob>[0-9a-f]{64})$/u.exec(id)?.groups;
  if (groups?.["blob"] === undefined) return undefined;
  return { blob: groups["blob"] as BlobId, part: Number(groups["part"] ?? 0) };
}

export type Space =
  | "user-message"
  | "request-context"
  | "runtime"
  | "inject-context"
  | "background-completed"
  | "summary"
  | "assistant"
  | "tool"
  | "imported"
  | "plain";

const SPACES: ReadonlySet<string> = new Set<Space>([
  "user-message",
  "request-context",
  "runtime",
  "inject-context",
  "background-completed",
  "summary",
  "assistant",
  "tool",
  "imported",
  "plain",
]);

/** The name space of an id, and what stands behind it. */
export function spaceOf(id: string): { readonly space: Space; readonly rest: string } | undefined {
  const colon = id.indexOf(":");
  const space = id.slice(0, colon);
  if (colon < 0 || !SPACES.has(space)) return undefined;
  return { space: space as Space, rest: id.slice(colon + 1) };
}

/** Id of a checkpoint node: of its parent and what it adds, so that the same step from the same place is the same node. */
export function checkpointId(
  parent: CheckpointId | undefined,
  added: readonly HistoryId[],
  reset: string,
): CheckpointId {
  return `cp_${digestOf(JSON.stringify([parent ?? null, added, reset]), 40)}` as CheckpointId;
}
