import type { JsonObject, JsonValue } from "@chartroom/domain";

/**
 * One argument of a tool: its JSON Schema for the model, and how its value is read. Reading is lenient where models slip
 * and the meaning is plain (`30000.0` and `"30000"` are an integer, `"true"` is a boolean, one string is a list of one);
 * everything else is a problem, told with the argument's name.
 */
export interface Field<T> {
  readonly json: JsonObject;
  readonly required: boolean;
  read(value: JsonValue | undefined, at: string): FieldValue<T>;
}

export type FieldValue<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

const value = <T>(read: T): FieldValue<T> => ({ ok: true, value: read });
const problem = (text: string): FieldValue<never> => ({ ok: false, problem: text });

function field<T>(json: JsonObject, expects: string, convert: (value: JsonValue) => T | undefined): Field<T> {
  return {
    json,
    required: true,
    read(given, at) {
      if (given === undefined || given === null) return problem(`${at} is missing`);
      const read = convert(given);
      return read === undefined ? problem(`${at} must be ${expects}`) : value(read);
    },
  };
}

export function string(description: string): Field<string> {
  return field({ type: "string", description }, "a string", (given) => (typeof given === "string" ? given : undefined));
}

/** One of a few words. */
export function choice<const W extends string>(words: readonly W[], description: string): Field<W> {
  return field({ type: "string", enum: words, description }, `one of ${words.join(", ")}`, (given) =>
    words.find((word) => word === given),
  );
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** A whole number within its bounds, both included. */
export function integer(description: string, { min, max }: Bounds): Field<number> {
  return field(
    { type: "integer", minimum: min, maximum: max, description },
    `a whole number from ${min} to ${max}`,
    (given) => {
      const number = typeof given === "string" && /^\s*-?\d+(\.0*)?\s*$/.test(given) ? Number(given) : given;
      return typeof number === "number" && Number.isSafeInteger(number) && number >= min && number <= max
        ? number
        : undefined;
    },
  );
}

export function boolean(description: string): Field<boolean> {
  return field({ type: "boolean", description }, "true or false", (given) => {
    if (given === "true") return true;
    return given === "false" ? false : typeof given === "boolean" ? given : undefined;
  });
}

export interface ListBounds {
  readonly min?: number;
  readonly max: number;
}

/** A list; an element's own description is left out of the schema. */
export function list<T>(element: Field<T>, description: string, { min = 0, max }: ListBounds): Field<readonly T[]> {
  const { description: _, ...items } = element.json;
  const size = min > 0 ? `${min} to ${max}` : `at most ${max}`;
  return {
    json: { type: "array", items, ...(min > 0 && { minItems: min }), maxItems: max, description },
    required: true,
    read(given, at) {
      if (given === undefined || given === null) return problem(`${at} is missing`);
      const elements = Array.isArray(given) ? given : [given as JsonValue];
      if (elements.length < min || elements.length > max) return problem(`${at} must have ${size} elements`);
      const read: T[] = [];
      for (const [index, one] of elements.entries()) {
        const result = element.read(one as JsonValue, `${at}[${index}]`);
        if (!result.ok) return result;
        read.push(result.value);
      }
      return value(read);
    },
  };
}

/** May be left out; `null` counts as left out. */
export function optional<T>(inner: Field<T>): Field<T | undefined> {
  return {
    json: inner.json,
    required: false,
    read: (given, at) => (given === undefined || given === null ? value(undefined) : inner.read(given, at)),
  };
}
