import type { JsonValue, ModelBlock, ModelMessage, ModelPart, ModelRequest, ModelToolResult } from "@chartroom/domain";
import type { ThinkingStyle } from "../config.ts";
import { groups, isBlank, ownReplay, pictureAsText, seen, thinkingAsText } from "../neutral/messages.ts";
import { objectRoot } from "../neutral/object-root.ts";
import { callId, toolName } from "../neutral/wire-name.ts";

/** What an adapter knows of the vendor and the model. */
export interface OpenAiDialect {
  /** Marks the replay state that this provider made. */
  readonly vendor: string;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly promptCacheKey: boolean;
  readonly streamUsage: boolean;
  readonly reasoningEffort: boolean;
  readonly reasoningReplay: "field" | "required" | "omit";
  readonly thinking: ThinkingStyle;
}

type Json = { readonly [key: string]: JsonValue | undefined };

/**
 * The exact text of a request. `messages` stands last, so that the text of one turn is a prefix of the next one's, up to the
 * closing brackets; the order of keys never changes.
 */
export function openAiBody(request: ModelRequest, dialect: OpenAiDialect): string {
  const body: Json = {
    model: request.model.upstreamModel,
    stream: true,
    stream_options: dialect.streamUsage ? { include_usage: true } : undefined,
    [dialect.maxTokensField]: request.maxOutputTokens,
    reasoning_effort: effort(request, dialect),
    prompt_cache_key: dialect.promptCacheKey ? request.cacheKey : undefined,
    tools:
      request.tools.length === 0
        ? undefined
        : request.tools.map((tool) => ({
            type: "function",
            function: {
              name: toolName(tool.name),
              description: tool.description,
              parameters: objectRoot(tool.inputSchema),
            },
          })),
    messages: messages(request, dialect) as JsonValue,
  };
  return JSON.stringify(body);
}

function effort(request: ModelRequest, { reasoningEffort, thinking }: OpenAiDialect): string | undefined {
  if (!reasoningEffort || thinking === "none") return undefined;
  if (thinking === "effortWithoutTools" && request.tools.length > 0) return "none";
  return request.effort;
}

function messages(request: ModelRequest, dialect: OpenAiDialect): readonly Json[] {
  const images = request.model.supportsImages;
  const system: Json[] = request.system === "" ? [] : [{ role: "system", content: request.system }];
  return system.concat(
    groups(request.messages).flatMap((message): readonly Json[] => {
      switch (message.role) {
        case "user":
          return [{ role: "user", content: userContent(message.parts, images) }];
        case "assistant":
          return assistant(message, dialect);
        case "tool":
          return toolResults(message.results, images);
      }
    }),
  );
}

/** Text alone goes as a string, which every vendor takes; with pictures it is a list of parts. */
function userContent(parts: readonly ModelPart[], images: boolean): JsonValue {
  const shown = parts.map((part) => seen(part, images));
  if (shown.every((part) => part.kind === "text")) return shown.map(({ text }) => text).join("\n\n");
  return shown.map((part) => (part.kind === "text" ? { type: "text", text: part.text } : picture(part.part)));
}

function picture({ mimeType, base64 }: { readonly mimeType: string; readonly base64: string }): JsonValue {
  return { type: "image_url", image_url: { url: `data:${mimeType};base64,${base64}` } };
}

function assistant(message: Extract<ModelMessage, { role: "assistant" }>, dialect: OpenAiDialect): readonly Json[] {
  const texts: string[] = [];
  const reasoning = new Map<string, string>();
  for (const block of message.blocks) {
    const field = block.type === "thinking" ? replayField(block, dialect.vendor) : undefined;
    if (field !== undefined) reasoning.set(field, (reasoning.get(field) ?? "") + block.text);
    else if (!isBlank(block.text)) texts.push(block.type === "text" ? block.text : thinkingAsText(block.text));
  }
  if (texts.length === 0 && message.calls.length === 0) return [];
  const calls = message.calls.map((call) => ({
    id: callId(call.id),
    type: "function",
    function: { name: toolName(call.name), arguments: call.arguments },
  }));
  return [
    {
      role: "assistant",
      content: texts.length === 0 ? null : texts.join("\n\n"),
      ...reasoningFields(reasoning, dialect),
      tool_calls: calls.length === 0 ? undefined : calls,
    },
  ];
}

/** What carries no reasoning where some is demanded: an empty text is refused like none (case HI-16). */
const NO_REASONING = " ";

function reasoningFields(own: ReadonlyMap<string, string>, { reasoningReplay }: OpenAiDialect): Json {
  if (reasoningReplay === "omit") return {};
  if (reasoningReplay === "field") return Object.fromEntries(own);
  if (own.size === 0) return { reasoning_content: NO_REASONING };
  return Object.fromEntries([...own].map(([field, text]) => [field, isBlank(text) ? NO_REASONING : text]));
}

/** The field in which this vendor's own reasoning came and goes back. */
function replayField(block: ModelBlock, vendor: string): string | undefined {
  const data = ownReplay(block, vendor);
  const field = typeof data === "object" && data !== null && "field" in data ? data.field : undefined;
  return field === "reasoning_content" || field === "reasoning" ? field : undefined;
}

/** A tool message holds only text, so pictures follow all results of the step in a message of the user's. */
function toolResults(results: readonly ModelToolResult[], images: boolean): readonly Json[] {
  const pictures: JsonValue[] = [];
  const answers = results.map((result): Json => {
    const { image } = result;
    const note = image && !images ? pictureAsText(image.mimeType) : undefined;
    if (image && images) {
      pictures.push(
        { type: "text", text: `Picture of the ${result.toolName} call ${callId(result.callId)}:` },
        picture(image),
      );
    }
    const content = [result.text, note].filter((text) => text !== undefined && text !== "").join("\n");
    return { role: "tool", tool_call_id: callId(result.callId), content };
  });
  return pictures.length === 0 ? answers : [...answers, { role: "user", content: pictures }];
}
