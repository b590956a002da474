import { agent, blobId, blobIdOf, fromBinary, toJson } from "@chartroom/protocol";
import type {
  AssistantBlock,
  Blob,
  BlobId,
  CanonicalMessage,
  ModelCallId,
  ProviderCallId,
  ToolCallId,
  ToolCallRecord,
} from "@chartroom/domain";
import { digestOf } from "../digest.ts";
import { plainId } from "../ids.ts";
import { isObject } from "./root.ts";
import { readTurn } from "./state.ts";

/** A content that stands where an id is expected is content (wire section 8.1). */
type Resolve = (raw: Uint8Array) => Uint8Array | undefined;

/**
 * Messages from the shown turns, for a client that keeps no root prompt messages. Text and calls as they were shown; what a
 * turn does not show (context, reasoning state) is not there.
 */
export function readTurns(
  turns: readonly BlobId[],
  get: (id: BlobId) => Uint8Array | undefined,
  blobs: Map<BlobId, Blob>,
): readonly CanonicalMessage[] {
  const messages: CanonicalMessage[] = [];
  const resolve: Resolve = (raw) => {
    const id = blobIdOf(raw);
    if (id !== undefined) return get(id);
    const content = blobId(raw);
    blobs.set(content, { id: content, data: raw });
    return raw;
  };
  for (const id of turns) {
    const data = get(id);
    const turn = data === undefined ? undefined : readTurn(data);
    if (turn === undefined) continue;
    const said = resolve(turn.userMessage);
    const user = said === undefined ? undefined : read(agent.UserMessageSchema, said);
    const text = user === undefined ? undefined : userText(user, resolve);
    if (text !== undefined) {
      messages.push({
        id: plainId(messages.length, text),
        role: "user",
        origin: "user",
        content: { kind: "parts", parts: [{ type: "text", text }] },
      });
    }
    readSteps(turn.steps, resolve, messages);
  }
  return messages;
}

function userText(user: agent.UserMessage, resolve: Resolve): string | undefined {
  if (user.text !== "" || user.textBlobId === undefined) return user.text;
  const data = resolve(user.textBlobId);
  return data === undefined ? undefined : new TextDecoder().decode(data);
}

interface Pass {
  blocks: AssistantBlock[];
  calls: ToolCallRecord[];
  results: { readonly call: ToolCallRecord; readonly text: string }[];
}

/** Steps in a row make passes: text after a call begins the next one. */
function readSteps(steps: readonly Uint8Array[], resolve: Resolve, messages: CanonicalMessage[]): void {
  let pass: Pass = { blocks: [], calls: [], results: [] };
  const flush = () => {
    if (pass.blocks.length + pass.calls.length > 0) pushPass(pass, messages);
    pass = { blocks: [], calls: [], results: [] };
  };
  for (const raw of steps) {
    const data = resolve(raw);
    const message = data === undefined ? undefined : read(agent.ConversationStepSchema, data)?.message;
    if (message?.case === "toolCall") {
      const { call, text } = shownCall(message.value, messages.length + pass.calls.length);
      pass.calls.push({ ...call, index: pass.calls.length });
      if (text !== undefined) pass.results.push({ call, text });
      continue;
    }
    if (message?.case === undefined) continue;
    if (pass.calls.length > 0) flush();
    const { text } = message.value;
    pass.blocks.push(message.case === "assistantMessage" ? { type: "text", text } : { type: "thinking", text });
  }
  flush();
}

function pushPass(pass: Pass, messages: CanonicalMessage[]): void {
  const content = JSON.stringify([pass.blocks, pass.calls]);
  messages.push({
    id: plainId(messages.length, content),
    role: "assistant",
    origin: "assistant",
    content: {
      kind: "assistant",
      record: {
        blocks: pass.blocks,
        calls: pass.calls,
        modelCallId: `imported_${digestOf(content, 24)}` as ModelCallId,
        step: 0,
        partial: false,
      },
    },
  });
  for (const { call, text } of pass.results) {
    messages.push({
      id: plainId(messages.length, JSON.stringify([call.id, text])),
      role: "tool",
      origin: "tool",
      content: { kind: "toolResult", result: { callId: call.id, toolName: call.name, text, isError: false } },
    });
  }
}

/** Name, arguments and result of a shown call, in the words of the wire's JSON. */
function shownCall(
  shown: agent.ToolCall,
  place: number,
): { readonly call: ToolCallRecord; readonly text: string | undefined } {
  const json = toJson(agent.ToolCallSchema, shown);
  const entry = isObject(json)
    ? Object.entries(json).find(([key, value]) => key.endsWith("ToolCall") && isObject(value))
    : undefined;
  const body = isObject(entry?.[1]) ? entry[1] : {};
  const args = isObject(body["args"]) ? body["args"] : {};
  const mcp = shown.tool.case === "mcpToolCall";
  const inner = mcp ? (args["args"] ?? {}) : args;
  const name =
    mcp && typeof args["name"] === "string" ? args["name"] : (entry?.[0] ?? "tool").replace(/ToolCall$/u, "");
  const id = shown.toolCallId ?? `call_${digestOf(JSON.stringify([place, json]), 24)}`;
  const call: ToolCallRecord = {
    id: id as ToolCallId,
    providerId: id as ProviderCallId,
    index: 0,
    name,
    arguments: JSON.stringify(inner),
  };
  return { call, text: body["result"] === undefined ? undefined : JSON.stringify(body["result"]) };
}

function read<S extends Parameters<typeof fromBinary>[0]>(
  schema: S,
  data: Uint8Array,
): ReturnType<typeof fromBinary<S>> | undefined {
  try {
    return fromBinary(schema, data);
  } catch {
    return undefined;
  }
}
