import type { JsonObject, JsonValue, ToolCallRecord } from "@chartroom/domain";

export type ParsedArguments =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problem: string };

/** Argument text of a call as an object. No text at all is an object without arguments; an object encoded twice is decoded twice. */
export function parseArguments(call: Pick<ToolCallRecord, "arguments" | "argumentError">): ParsedArguments {
  if (call.argumentError !== undefined) return { ok: false, problem: call.argumentError };
  if (call.arguments.trim() === "") return { ok: true, value: {} };
  const once = parseJson(call.arguments);
  if (once === undefined) return { ok: false, problem: "the arguments are not valid JSON" };
  const value = typeof once === "string" ? parseJson(once) : once;
  if (!isObject(value)) return { ok: false, problem: "the arguments are not a JSON object" };
  return nestsTooDeep(value, MAX_NESTING)
    ? { ok: false, problem: `the arguments are nested deeper than ${MAX_NESTING} levels` }
    : { ok: true, value };
}

/** Objects and lists inside each other. More than this a protobuf decoder on the other side need not accept. */
const MAX_NESTING = 24;

const WRAPPERS = ["arguments", "args", "input", "parameters", "params", "tool_input"];

/**
 * The arguments inside a wrapper that some models put around them (`{"arguments": {…}}`, also beside the tool's name),
 * or `undefined` when there is none. A wrapper is only seen where no argument that the tool declares stands outside it.
 */
export function unwrapArguments(given: JsonObject, declares: (name: string) => boolean): JsonObject | undefined {
  const names = Object.keys(given);
  if (names.some(declares)) return undefined;
  const inner = names
    .filter((name) => WRAPPERS.includes(name))
    .map((name) => given[name])
    .map((value) => (typeof value === "string" ? parseJson(value) : value))
    .filter(isObject);
  return inner.length === 1 ? inner[0] : undefined;
}

function nestsTooDeep(value: JsonValue, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((inner: JsonValue) => nestsTooDeep(inner, left - 1));
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `undefined`: not JSON. */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
