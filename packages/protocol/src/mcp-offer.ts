import type { JsonObject, McpToolOffer } from "@chartroom/domain";
import type { McpToolDefinition } from "@chartroom/protocols/agent/v1/tool_mcp";
import { isJsonObject, parseJsonObject, valueToJson } from "./json-value.ts";

const ANY_OBJECT: JsonObject = { type: "object", properties: {} };

/**
 * The tools that a client offers (wire section 4.3, field 4; `RequestContext.tools`). A definition without any name is
 * left out, since no model could call it; one without a schema takes any object.
 */
export function mcpOffers(definitions: readonly McpToolDefinition[]): readonly McpToolOffer[] {
  return definitions.flatMap((definition) => {
    const name = definition.name === "" ? definition.toolName : definition.name;
    if (name === "") return [];
    return [
      {
        name,
        description: definition.description,
        inputSchema: schemaOf(definition),
        providerIdentifier: definition.providerIdentifier,
        toolName: definition.toolName === "" ? name : definition.toolName,
      },
    ];
  });
}

function schemaOf(definition: McpToolDefinition): JsonObject {
  const given = valueToJson(definition.inputSchema);
  if (isJsonObject(given)) return given;
  // some clients send the schema as JSON text, in the value itself or in a field of its own
  const text = typeof given === "string" ? given : definition.inputSchemaJson;
  return parseJsonObject(text) ?? ANY_OBJECT;
}
