import type { JsonObject, McpToolOffer } from "@chartroom/domain";
import type { CallCards, CallSite } from "../native/tool.ts";
import { agent, create, fromJson, type ToolVariant } from "../wire.ts";

export type OfferedNames = Pick<McpToolOffer, "name" | "toolName" | "providerIdentifier">;

/** The tool case of a call to an offered tool, or to one that nobody offers (then only its name is known). */
export function mcpVariant(
  offer: OfferedNames,
  site: CallSite,
  args: JsonObject,
  result?: agent.McpToolResult,
): ToolVariant {
  const value = create(agent.McpToolCallSchema, {
    args: mcpArgs(offer, site, args),
    ...(result !== undefined && { result }),
  });
  return { case: "mcpToolCall", value };
}

export function mcpError(error: string): agent.McpToolResult {
  const value = create(agent.McpToolErrorSchema, { error });
  return create(agent.McpToolResultSchema, { result: { case: "error", value } });
}

export function mcpTold(text: string): agent.McpToolResult {
  const value = create(agent.McpSuccessSchema, { content: [{ content: { case: "text", value: { text } } }] });
  return create(agent.McpToolResultSchema, { result: { case: "success", value } });
}

/**
 * The client finds the tool by what it offered, so names are echoed as offered. The offer has no server identifier of its
 * own; clients use the provider's for both.
 */
export function mcpArgs(
  { name, toolName, providerIdentifier }: OfferedNames,
  site: CallSite,
  args: JsonObject,
): agent.McpArgs {
  const base = {
    name,
    toolName,
    providerIdentifier,
    serverIdentifier: providerIdentifier,
    toolCallId: site.callId,
  };
  return fromJson(agent.McpArgsSchema, { ...base, args: args as Parameters<typeof fromJson>[1] });
}

/** The cards of a call to a tool that is not there: only its name is known. */
export function unknownCards(name: string, site: CallSite): CallCards {
  const names: OfferedNames = { name, toolName: name, providerIdentifier: "" };
  return {
    failed: (text) => mcpVariant(names, site, {}, mcpError(text)),
    told: (text) => mcpVariant(names, site, {}, mcpTold(text)),
  };
}
