import { agent, create, type MessageShape } from "@chartroom/protocol";
import type { CanonicalMessage, ToolDefinition } from "@chartroom/domain";
import { sectionsOf } from "../context.ts";
import { messageTokens, sum, textTokens, toolTokens } from "../tokens.ts";
import { isContext, isSummary } from "../view.ts";

/** The official categories of the context meter, in their order. */
export const CATEGORIES = {
  system_prompt: "System prompt",
  tools: "Tool definitions",
  rules: "Rules",
  skills: "Skills",
  mcp: "MCP & dynamic tools",
  subagents: "Subagent definitions",
  summarized_conversation: "Summarized conversation",
  conversation: "Conversation",
} as const;
export type Category = keyof typeof CATEGORIES;
const NAMES = Object.keys(CATEGORIES) as readonly Category[];

export interface TokenDetails {
  readonly used: number;
  /** The window. */
  readonly max: number;
  readonly categories: Readonly<Record<Category, number>>;
}

export interface TokenInput {
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  /** Names of tools that the client brought (MCP); they count apart. */
  readonly dynamicTools: ReadonlySet<string>;
  readonly messages: readonly CanonicalMessage[];
  readonly window: number;
  /** Tokens that the provider counted for the last request and its answer, when known: the parts are scaled to it. */
  readonly measured?: number;
}

const SECTION_CATEGORY: Readonly<Record<string, Category>> = {
  rules: "rules",
  cloud_rule: "rules",
  skills: "skills",
  mcp: "mcp",
  subagents: "subagents",
};

/** Tokens by category; their sum is `used`, which stays below the window. */
export function tokenDetails(input: TokenInput): TokenDetails {
  const counts: Record<Category, number> = {
    system_prompt: textTokens(input.system),
    tools: sum(
      input.tools.filter((tool) => !input.dynamicTools.has(tool.name)),
      toolTokens,
    ),
    rules: 0,
    skills: 0,
    mcp: sum(
      input.tools.filter((tool) => input.dynamicTools.has(tool.name)),
      toolTokens,
    ),
    subagents: 0,
    summarized_conversation: 0,
    conversation: 0,
  };
  for (const message of input.messages) {
    let tokens = messageTokens(message);
    if (isContext(message)) {
      for (const { name, text } of sectionsOf(message)) {
        const category = SECTION_CATEGORY[name];
        if (category === undefined) continue;
        const own = textTokens(text);
        counts[category] += own;
        tokens -= own;
      }
    }
    counts[isSummary(message) ? "summarized_conversation" : "conversation"] += Math.max(0, tokens);
  }
  const estimated = sum(NAMES, (name) => counts[name]);
  const target = Math.min(input.measured ?? estimated, Math.max(0, input.window - 1));
  return { used: target, max: input.window, categories: scaled(counts, estimated, target) };
}

/** Counts in the same proportions with `target` as their sum; what rounding leaves goes to the conversation. */
function scaled(counts: Record<Category, number>, from: number, target: number): Record<Category, number> {
  if (from === target) return counts;
  const made = { ...counts };
  for (const name of NAMES) made[name] = from === 0 ? 0 : Math.floor((counts[name] * target) / from);
  made.conversation += target - sum(NAMES, (name) => made[name]);
  return made;
}

/** The wire's form (wire section 8.2). */
export function tokenDetailsMessage(details: TokenDetails): MessageShape<typeof agent.ConversationTokenDetailsSchema> {
  return create(agent.ConversationTokenDetailsSchema, {
    usedTokens: details.used,
    maxTokens: details.max,
    breakdown: create(agent.PromptTokenBreakdownSnapshotSchema, {
      totalUsedTokens: details.used,
      maxTokens: details.max,
      categories: NAMES.map((id) =>
        create(agent.PromptTokenBreakdownCategorySchema, {
          id,
          label: CATEGORIES[id],
          estimatedTokens: details.categories[id],
        }),
      ),
    }),
  });
}
