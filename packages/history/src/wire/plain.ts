import { agent, blobId, fromBase64, fromBinary } from "@chartroom/protocol";
import type {
  AssistantBlock,
  Blob,
  BlobId,
  CanonicalMessage,
  ContentPart,
  ImagePart,
  MessageContent,
  ModelCallId,
  ProviderCallId,
  ToolCallId,
  ToolCallRecord,
} from "@chartroom/domain";
import { digestOf } from "../digest.ts";
import { plainId } from "../ids.ts";

export interface PlainHistory {
  readonly messages: readonly CanonicalMessage[];
  /** Pictures that stood in it; to be stored with the messages. */
  readonly blobs: readonly Blob[];
}

/** Reads the plain messages of a client that keeps no blobs (`ConversationHistory`, wire section 8.2); `undefined` when malformed. */
export function readPlainHistory(bytes: Uint8Array): PlainHistory | undefined {
  let history: agent.ConversationHistory;
  try {
    history = fromBinary(agent.ConversationHistorySchema, bytes);
  } catch {
    return undefined;
  }
  const blobs = new Map<BlobId, Blob>();
  const messages: CanonicalMessage[] = [];
  for (const { message } of history.messages) {
    const place = messages.length;
    const made = message.case === undefined ? undefined : readMessage(message, place, blobs);
    if (made === undefined) continue;
    const id = plainId(place, JSON.stringify(made.content));
    messages.push({ id, ...made });
  }
  return { messages, blobs: [...blobs.values()] };
}

type Said = Exclude<agent.ConversationHistoryMessage["message"], { case: undefined }>;

function readMessage(message: Said, place: number, blobs: Map<BlobId, Blob>): Omit<CanonicalMessage, "id"> | undefined {
  if (message.case === "user")
    return {
      role: "user",
      origin: "user",
      content: { kind: "parts", parts: contentParts(message.value.content, blobs) },
    };
  if (message.case === "assistant")
    return { role: "assistant", origin: "assistant", content: assistantContent(message.value, place) };
  const { toolCallId, toolName, content, isError } = message.value;
  const parts = contentParts(content, blobs);
  const image = parts.find((part) => part.type === "image");
  return {
    role: "tool",
    origin: "tool",
    content: {
      kind: "toolResult",
      result: {
        callId: toolCallId as ToolCallId,
        toolName,
        text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"),
        isError: isError === true,
        ...(image === undefined ? {} : { image }),
      },
    },
  };
}

function assistantContent(value: agent.ConversationHistoryAssistantMessage, place: number): MessageContent {
  const blocks: AssistantBlock[] = [];
  const calls: ToolCallRecord[] = [];
  for (const { content } of value.content) {
    if (content.case === "text") blocks.push({ type: "text", text: content.value.text });
    if (content.case === "reasoning") {
      const { text, signature } = content.value;
      const replay = signature === undefined ? {} : { replay: { vendor: "foreign:", data: signature } };
      blocks.push({ type: "thinking", text, ...replay });
    }
    if (content.case === "redactedReasoning")
      blocks.push({ type: "thinking", text: "", replay: { vendor: "foreign:", data: content.value.data } });
    if (content.case !== "toolCall") continue;
    const { toolCallId, toolName, argsJson } = content.value;
    calls.push({
      id: toolCallId as ToolCallId,
      providerId: toolCallId as ProviderCallId,
      index: calls.length,
      name: toolName,
      arguments: argsJson,
    });
  }
  const pass = `imported_${digestOf(JSON.stringify([place, blocks, calls]), 24)}` as ModelCallId;
  return { kind: "assistant", record: { blocks, calls, modelCallId: pass, step: 0, partial: false } };
}

function contentParts(
  content: readonly (agent.ConversationHistoryUserContent | agent.ConversationHistoryToolResultContent)[],
  blobs: Map<BlobId, Blob>,
): readonly ContentPart[] {
  return content.flatMap(({ content: part }): readonly ContentPart[] => {
    if (part.case === "text") return [{ type: "text", text: part.value.text }];
    if (part.case !== "image") return [];
    const data = fromBase64(part.value.data.replace(/^data:[^,]*,/u, ""));
    const blob = blobId(data);
    blobs.set(blob, { id: blob, data });
    return [{ type: "image", blob, mimeType: part.value.mimeType ?? "image/png" } satisfies ImagePart];
  });
}
