import type { DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";
import { LENGTH_DELIMITED, scanFields } from "./bytes.ts";
import { type Read, readBinary } from "./from-binary.ts";
import { type Decoded, err, ok } from "./result.ts";

/**
 * A message becomes some 100 bytes of objects per field, and a field can be 2 bytes on the wire. So the number of fields
 * is bounded as well as the number of bytes: this many are far more than the largest project tree has.
 */
export const MAX_FIELDS = 1_000_000;

/** As deep as the decoder itself goes. */
const MAX_DEPTH = 100;

/** Reads a serialized message of a kind. Never throws: what is not one, or is made of too many fields, is `malformed`. */
export function decodeMessage<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  maxFields: number = MAX_FIELDS,
): Decoded<MessageShape<Desc>> {
  const read = decodeRead(schema, bytes, maxFields);
  return read.ok ? ok(read.value.message) : read;
}

/** The same, with the bytes that the message stands for: those that came unless their text had to be repaired. */
export function decodeRead<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  maxFields: number = MAX_FIELDS,
): Decoded<Read<Desc>> {
  try {
    // a field takes at least two bytes, so most messages need no counting
    if (bytes.byteLength <= maxFields * 2 || isBounded(schema, bytes, maxFields)) return ok(readBinary(schema, bytes));
  } catch {
    // told below, like all else that cannot be read
  }
  return err({ kind: "malformed", what: schema.name });
}

function isBounded(schema: DescMessage, bytes: Uint8Array, maxFields: number): boolean {
  let left = maxFields;
  const known = new Map<DescMessage, ReadonlyMap<number, DescMessage>>();
  const scan = (message: DescMessage, start: number, end: number, depth: number): boolean => {
    if (depth > MAX_DEPTH) return false;
    const fields = known.get(message) ?? nestedFields(message);
    known.set(message, fields);
    return scanFields(bytes, start, end, (number, type, from, to) => {
      left -= 1;
      if (left < 0) return false;
      const inner = type === LENGTH_DELIMITED ? fields.get(number) : undefined;
      return inner === undefined || scan(inner, from, to, depth + 1);
    });
  };
  return scan(schema, 0, bytes.byteLength, 0);
}

/** The fields that hold messages, by number; values of maps are not looked into, their entries count. */
function nestedFields(message: DescMessage): ReadonlyMap<number, DescMessage> {
  return new Map(
    message.fields.flatMap((field) => {
      const inner = nested(field);
      return inner === undefined ? [] : [[field.number, inner] as const];
    }),
  );
}

function nested(field: DescField): DescMessage | undefined {
  if (field.fieldKind === "message") return field.message;
  return field.fieldKind === "list" && field.listKind === "message" ? field.message : undefined;
}
