import type { JsonValue, ModelMessage, ModelRequest } from "@chartroom/domain";
import type { ThinkingStyle } from "../config.ts";
import { groups } from "../neutral/messages.ts";
import { objectRoot } from "../neutral/object-root.ts";
import { toolName } from "../neutral/wire-name.ts";
import { assistantBlocks, beginsWithThinking, resultBlocks, textBlock, userBlocks, type Block } from "./blocks.ts";

export interface AnthropicDialect {
  /** Marks the replay state that this provider made. */
  readonly vendor: string;
  readonly cache: "5m" | "1h" | "off";
  readonly eagerToolInput: boolean;
  readonly thinking: ThinkingStyle;
}

interface Message {
  readonly role: "user" | "assistant";
  readonly blocks: readonly Block[];
}

/**
 * The exact text of a request. `messages` stands last, so that the text of one turn is a prefix of the next one's up to the
 * closing brackets, once the cache marks are taken out: those move. They are put on the last tool, the system text, the
 * last user message and the one before it, where the request before this one had its last mark.
 */
export function anthropicBody(request: ModelRequest, dialect: AnthropicDialect): string {
  const messages = toMessages(request, dialect.vendor);
  const mark = cacheMark(dialect.cache);
  const tools = request.tools.map((tool) =>
    JSON.stringify({
      name: toolName(tool.name),
      description: tool.description,
      input_schema: objectRoot(tool.inputSchema),
      ...(dialect.eagerToolInput && { eager_input_streaming: true }),
    }),
  );
  const fields = [
    field("model", request.model.upstreamModel),
    field("max_tokens", request.maxOutputTokens),
    field("stream", true),
    ...thinkingFields(request, dialect),
    ...(tools.length === 0 ? [] : [`"tools":[${markLast(tools, mark).join(",")}]`]),
    ...(request.system.trim() === "" ? [] : [`"system":[${markLast([textBlock(request.system)], mark).join(",")}]`]),
    `"messages":[${markMessages(messages, mark).join(",")}]`,
  ];
  return `{${fields.join(",")}}`;
}

/** Whether this request asks for thinking within a budget, which some things depend on. */
export function thinksInBudget(request: ModelRequest, dialect: AnthropicDialect): boolean {
  return dialect.thinking === "budget" && budget(request) !== undefined && canThink(request.messages, dialect.vendor);
}

function field(name: string, value: JsonValue): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
}

function toMessages(request: ModelRequest, vendor: string): readonly Message[] {
  const images = request.model.supportsImages;
  return groups(request.messages).flatMap((message): readonly Message[] => {
    switch (message.role) {
      case "user":
        return [{ role: "user", blocks: userBlocks(message.parts, images) }];
      case "tool":
        return [{ role: "user", blocks: resultBlocks(message.results, images) }];
      case "assistant": {
        const blocks = assistantBlocks(message, vendor);
        return blocks.length === 0 ? [] : [{ role: "assistant", blocks }];
      }
    }
  });
}

const EFFORT = { minimal: "low", low: "low", medium: "medium", high: "high" } as const;
const BUDGET = { minimal: 1_024, low: 4_096, medium: 12_288, high: 32_768 } as const;

/** An adaptive model always thinks as it likes, and its thinking is asked for in a readable form; an effort steers it. */
function thinkingFields(request: ModelRequest, dialect: AnthropicDialect): readonly string[] {
  if (dialect.thinking === "adaptive") {
    const effort = request.effort === undefined ? [] : [field("output_config", { effort: EFFORT[request.effort] })];
    return [field("thinking", { type: "adaptive", display: "summarized" }), ...effort];
  }
  const tokens = thinksInBudget(request, dialect) ? budget(request) : undefined;
  return tokens === undefined ? [] : [field("thinking", { type: "enabled", budget_tokens: tokens })];
}

/** At least 1,024 and less than the output limit, or the vendor refuses it. */
function budget(request: ModelRequest): number | undefined {
  if (request.effort === undefined) return undefined;
  const tokens = Math.min(BUDGET[request.effort], Math.floor(request.maxOutputTokens / 2));
  return tokens >= 1_024 ? tokens : undefined;
}

/** A manual budget is refused when the assistant message of the current tool round begins without its thinking (case HI-16). */
function canThink(messages: readonly ModelMessage[], vendor: string): boolean {
  const last = messages.findLast((message) => message.role === "assistant");
  return last === undefined || last.calls.length === 0 || beginsWithThinking(last, vendor);
}

function cacheMark(cache: AnthropicDialect["cache"]): string {
  if (cache === "off") return "";
  return `,"cache_control":${JSON.stringify({ type: "ephemeral", ...(cache === "1h" && { ttl: "1h" }) })}`;
}

function markLast(blocks: readonly Block[], mark: string): readonly Block[] {
  return blocks.map((block, at) => (at === blocks.length - 1 ? `${block.slice(0, -1)}${mark}}` : block));
}

function markMessages(messages: readonly Message[], mark: string): readonly string[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const before = messages.findLastIndex(({ role }, at) => role === "user" && at < last);
  return messages.map(({ role, blocks }, at) => {
    const content = at === last || at === before ? markLast(blocks, mark) : blocks;
    return `{"role":"${role}","content":[${content.join(",")}]}`;
  });
}
