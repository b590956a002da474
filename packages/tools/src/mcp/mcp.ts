import type { JsonObject, McpToolOffer } from "@chartroom/domain";
import { isObject, unwrapArguments } from "../arguments/parse.ts";
import { single } from "../execution/single.ts";
import type { ToolProgram } from "../execution/program.ts";
import type { CallSite, Prepared, ToolSpec } from "../native/tool.ts";
import { upperSnake } from "../native/tool.ts";
import { mcpOutcome } from "./result.ts";
import { mcpArgs, mcpError, mcpTold, mcpVariant } from "./variants.ts";

/** A tool that the client offers and runs (exec 11). `name` is the one that the model is given. */
export function mcpTool(name: string, offer: McpToolOffer): ToolSpec {
  const schema = objectSchema(offer.inputSchema);
  return {
    definition: { name, description: offer.description, inputSchema: schema },
    toolIdentifier: upperSnake(name),
    dynamic: true,
    changes: true,
    card: (site, args) => mcpVariant(offer, site, args),
    cards: (site, args) => ({
      failed: (text) => mcpVariant(offer, site, args, mcpError(text)),
      told: (text) => mcpVariant(offer, site, args, mcpTold(text)),
    }),
    prepare: (site, args) => prepare(offer, schema, site, args),
  };
}

function prepare(offer: McpToolOffer, schema: JsonObject, site: CallSite, given: JsonObject): Prepared {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const declares = (name: string) => Object.hasOwn(properties, name);
  const args = (Object.keys(properties).length > 0 ? unwrapArguments(given, declares) : undefined) ?? given;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const missing = required.filter((name) => typeof name === "string" && !Object.hasOwn(args, name));
  if (missing.length > 0) return { ok: false, problems: missing.map((name) => `${String(name)} is missing`) };
  return { ok: true, program: program(offer, site, args) };
}

function program(offer: McpToolOffer, site: CallSite, args: JsonObject): ToolProgram {
  const card = mcpVariant(offer, site, args);
  return single({
    card,
    args: { case: "mcpArgs", value: mcpArgs(offer, site, args) },
    failed: (text) => mcpVariant(offer, site, args, mcpError(text)),
    complete(answer) {
      if (answer.case !== "mcpResult") return undefined;
      const outcome = mcpOutcome(answer.value, offer);
      if (outcome === undefined || outcome === "wait") return outcome;
      const { result, ...rest } = outcome;
      return { ...rest, tool: mcpVariant(offer, site, args, result) };
    },
  });
}

/** Vendors want the schema of an object; one that says nothing about its type takes any object. */
function objectSchema(schema: JsonObject): JsonObject {
  const says = ["type", "$ref", "oneOf", "anyOf", "allOf"].some((key) => Object.hasOwn(schema, key));
  return says ? schema : { ...schema, type: "object", properties: schema["properties"] ?? {} };
}
