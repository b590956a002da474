import { fromJson, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject, JsonValue } from "@chartroom/domain";

/** A `google.protobuf.Value` as JSON; `undefined` when it holds nothing, or a number that JSON cannot say. */
export function valueToJson(value: Value | undefined): JsonValue | undefined {
  if (value === undefined || value.kind.case === undefined) return undefined;
  try {
    return toJson(ValueSchema, value) as JsonValue;
  } catch {
    return undefined;
  }
}

/** JSON as a `google.protobuf.Value`, for tool arguments (wire section 5.3). */
export function jsonToValue(json: JsonValue): Value {
  return fromJson(ValueSchema, json as Parameters<typeof fromJson>[1]);
}

/** JSON text as an object; `undefined` when it is not one. */
export function parseJsonObject(text: string | undefined): JsonObject | undefined {
  if (text === undefined || text === "") return undefined;
  try {
    const json = JSON.parse(text) as JsonValue;
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

export function isJsonObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
