import type { JsonObject, JsonValue } from "@chartroom/domain";
import type { Field } from "./field.ts";

/** All arguments of one tool: the schema that the model is given, and the reader of what it sends. */
export interface Shape<T> {
  /** JSON Schema; byte-stable, its keys in the order of the declaration. */
  readonly schema: JsonObject;
  declares(name: string): boolean;
  read(given: JsonObject): ShapeValue<T>;
  /** Only those arguments that can be read; for a card that is shown although the rest is wrong or still to come. */
  some(given: JsonObject): Partial<T>;
}

export type ArgumentsOf<S extends Shape<unknown>> = S extends Shape<infer T> ? T : never;

export type ShapeValue<T> =
  | { readonly ok: true; readonly value: T }
  /** Every problem, not only the first one. */
  | { readonly ok: false; readonly problems: readonly string[] };

export type FieldsOf<F extends Readonly<Record<string, Field<unknown>>>> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** Names that the shape does not declare are ignored when read: an argument too many harms nobody. */
export function shape<F extends Readonly<Record<string, Field<unknown>>>>(fields: F): Shape<FieldsOf<F>> {
  const entries = Object.entries(fields);
  const required = entries.filter(([, { required }]) => required).map(([name]) => name);
  const readAll = (given: JsonObject) => {
    const problems: string[] = [];
    const values: Record<string, unknown> = {};
    for (const [name, field] of entries) {
      const result = field.read(ownValue(given, name), name);
      if (!result.ok) problems.push(result.problem);
      else if (result.value !== undefined) values[name] = result.value;
    }
    return { problems, values };
  };
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(entries.map(([name, { json }]) => [name, json])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    declares: (name) => Object.hasOwn(fields, name),
    // each of the values was read by the field of its name, which is what the mapped type says
    read(given) {
      const { problems, values } = readAll(given);
      return problems.length === 0 ? { ok: true, value: values as FieldsOf<F> } : { ok: false, problems };
    },
    some: (given) => readAll(given).values as Partial<FieldsOf<F>>,
  };
}

function ownValue(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
