import type { Attachment, BackgroundCompletion, BlobId, ContentPart, UserMessage } from "@chartroom/domain";
import { attribute, oneLine } from "./text.ts";

/**
 * A user's message as the model reads it: what is attached first, the user's own words last and unchanged. `text` is the
 * message's text, fetched where it came as a blob; of `absent` pictures nobody has the bytes, and the message says so for ever,
 * whatever is stored later.
 */
export function userParts(
  message: Pick<UserMessage, "attachments" | "text">,
  text: string = message.text,
  absent: ReadonlySet<BlobId> = new Set(),
): readonly ContentPart[] {
  const attached = message.attachments.map((attachment) => renderAttachment(attachment, absent));
  return text === "" && attached.length > 0 ? attached : [...attached, { type: "text", text }];
}

function renderAttachment(attachment: Attachment, absent: ReadonlySet<BlobId>): ContentPart {
  if (attachment.type === "image") {
    const { blob, mimeType, name } = attachment;
    if (absent.has(blob)) {
      const label = name === undefined ? mimeType : `${name}, ${mimeType}`;
      return { type: "text", text: `[A picture (${label}) was attached; its content was not delivered.]` };
    }
    return { type: "image", blob, mimeType, ...(name === undefined ? {} : { name }) };
  }
  if (attachment.type === "file")
    return framed("attached_file", `path="${attribute(attachment.path)}"`, attachment.content);
  if (attachment.type === "note")
    return framed("attached_note", `about="${attribute(attachment.label)}"`, attachment.content);
  const { path, startLine, endLine } = attachment;
  return framed("attached_selection", `path="${attribute(path)}" lines="${startLine}-${endLine}"`, attachment.content);
}

function framed(tag: string, attributes: string, content: string): ContentPart {
  return { type: "text", text: `<${tag} ${attributes}>\n${content}\n</${tag}>` };
}

/** What a background task's end or progress tells the model. */
export function completionText(completion: BackgroundCompletion): string {
  const what = completion.taskKind === "other" ? "task" : completion.taskKind;
  const title = oneLine(completion.title);
  const head = `The background ${what}${title === "" ? "" : ` "${title}"`} (${completion.taskId}) ${STATUS[completion.status]}.`;
  const path = completion.outputPath === undefined ? [] : [`Its output is in ${completion.outputPath}.`];
  const detail = completion.detail.trim() === "" ? [] : [completion.detail.trim()];
  return [`<background_task>`, head, ...path, ...detail, `</background_task>`].join("\n");
}

const STATUS: Record<BackgroundCompletion["status"], string> = {
  completed: "has ended",
  failed: "has failed",
  cancelled: "was cancelled",
  progress: "reports progress",
};

/** What a system producer injects into a running turn. */
export function injectionParts(producer: string, content: string): readonly ContentPart[] {
  return [framed("injected", `from="${attribute(producer)}"`, content)];
}
