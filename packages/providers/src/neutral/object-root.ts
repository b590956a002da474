import type { JsonObject, JsonValue } from "@chartroom/domain";

/** At the root of a tool's schema vendors refuse these. */
const REFUSED = ["$ref", "oneOf", "anyOf", "allOf", "not", "enum", "const", "if", "then", "else"];
const MAX_DEPTH = 16;

/**
 * A schema whose root every vendor accepts: an object with `properties` and without alternatives (case TL-07). One that is
 * acceptable comes back as it is. Otherwise the alternatives are laid side by side: all properties of all of them, required
 * only what each of them requires, and a sentence that says which belong together. The same schema always gives the same
 * result.
 */
export function objectRoot(schema: JsonObject): JsonObject {
  if (schema["type"] === "object" && isObject(schema["properties"]) && !REFUSED.some((key) => key in schema))
    return schema;
  const flat = flatten(schema, schema, 0);
  const kept = Object.entries(schema).filter(([key]) => KEPT.has(key));
  const description = [schema["description"], flat.choice].filter((text) => typeof text === "string").join(" ");
  return {
    type: "object",
    properties: Object.fromEntries(flat.properties),
    ...(flat.required.length > 0 && { required: flat.required }),
    ...(description !== "" && { description }),
    ...Object.fromEntries(kept),
  };
}

const KEPT = new Set(["$schema", "title", "$defs", "definitions"]);

interface Flat {
  readonly properties: ReadonlyMap<string, JsonValue>;
  readonly required: readonly string[];
  readonly choice?: string;
}

const NOTHING: Flat = { properties: new Map(), required: [] };

function flatten(schema: JsonValue | undefined, root: JsonObject, depth: number): Flat {
  if (!isObject(schema) || depth > MAX_DEPTH) return NOTHING;
  const referred = flatten(resolve(schema["$ref"], root), root, depth + 1);
  const own: Flat = {
    properties: new Map(isObject(schema["properties"]) ? Object.entries(schema["properties"]) : []),
    required: strings(schema["required"]),
  };
  const parts = list(schema["allOf"]).map((part) => flatten(part, root, depth + 1));
  const all = [referred, own, ...parts].reduce((a, b) => both(a, b, a.required.concat(b.required)), NOTHING);
  const variants = [...list(schema["oneOf"]), ...list(schema["anyOf"])]
    .map((variant) => flatten(variant, root, depth + 1))
    .filter(({ properties }) => properties.size > 0);
  if (variants.length === 0) return all;
  const [first, ...rest] = variants;
  const common = first!.required.filter((name) => rest.every(({ required }) => required.includes(name)));
  const merged = variants.reduce((a, b) => both(a, b, []), NOTHING);
  const sets = variants.map(({ properties }) => `{${[...properties.keys()].join(", ")}}`);
  const choice = sets.length > 1 ? `Give one of these sets of properties: ${sets.join(" or ")}.` : undefined;
  return { ...both(all, merged, all.required.concat(common)), ...(choice !== undefined && { choice }) };
}

/** The properties of both; where they describe one differently, either description may hold. */
function both(a: Flat, b: Flat, required: readonly string[]): Flat {
  const properties = new Map(a.properties);
  for (const [name, schema] of b.properties) {
    const before = properties.get(name);
    properties.set(name, before === undefined ? schema : either(before, schema));
  }
  return { properties, required: [...new Set(required)].filter((name) => properties.has(name)) };
}

function either(a: JsonValue, b: JsonValue): JsonValue {
  const before = isObject(a) && Object.keys(a).length === 1 && Array.isArray(a["anyOf"]) ? list(a["anyOf"]) : [a];
  const text = JSON.stringify(b);
  if (before.some((one) => JSON.stringify(one) === text)) return a;
  return { anyOf: [...before, b] };
}

/** A reference into the same document (`#/$defs/Name`). */
function resolve(ref: JsonValue | undefined, root: JsonObject): JsonValue | undefined {
  if (typeof ref !== "string" || !ref.startsWith("#/")) return undefined;
  let at: JsonValue | undefined = root;
  for (const step of ref.slice(2).split("/")) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    at = isObject(at) ? at[key] : undefined;
  }
  return at;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function strings(value: JsonValue | undefined): readonly string[] {
  return list(value).filter((one) => typeof one === "string");
}
