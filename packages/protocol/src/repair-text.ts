import { isUtf8 } from "node:buffer";
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { LENGTH_DELIMITED, scanFields, wrap } from "./bytes.ts";

/** As deep as the decoder itself goes. */
const MAX_DEPTH = 100;

/** What a length-delimited field holds, as far as text can be in it. */
type Content = "text" | Shape;
type Shape = ReadonlyMap<number, Content>;

const shapes = new WeakMap<DescMessage, Shape>();
const replacing = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The same serialized message with U+FFFD in the place of what is not UTF-8 in its text fields (case TL-11): one byte of
 * a command's output must not make a whole message unreadable. All else, with unknown fields and byte fields, stays byte
 * for byte. `undefined` when no text is broken, or the bytes are not a protobuf message.
 */
export function repairText(schema: DescMessage, message: Uint8Array): Uint8Array | undefined {
  return repair(shapeOf(schema), message, 0);
}

function repair(shape: Shape, message: Uint8Array, depth: number): Uint8Array | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const parts: Uint8Array[] = [];
  let kept = 0;
  let fieldAt = 0;
  const readable = scanFields(message, 0, message.byteLength, (number, type, start, end) => {
    const content = type === LENGTH_DELIMITED ? shape.get(number) : undefined;
    const repaired = content === undefined ? undefined : repairContent(content, message.subarray(start, end), depth);
    if (repaired !== undefined) {
      parts.push(message.subarray(kept, fieldAt), wrap([number], repaired));
      kept = end;
    }
    fieldAt = end;
    return true;
  });
  if (!readable || parts.length === 0) return undefined;
  return Buffer.concat([...parts, message.subarray(kept)]);
}

function repairContent(content: Content, bytes: Uint8Array, depth: number): Uint8Array | undefined {
  if (content !== "text") return repair(content, bytes, depth + 1);
  return isUtf8(bytes) ? undefined : Buffer.from(replacing.decode(bytes), "utf8");
}

function shapeOf(schema: DescMessage): Shape {
  const known = shapes.get(schema);
  if (known !== undefined) return known;
  const shape = new Map<number, Content>();
  // before its fields: a message can hold messages of its own kind
  shapes.set(schema, shape);
  for (const field of schema.fields) {
    const content = contentOf(field);
    if (content !== undefined) shape.set(field.number, content);
  }
  return shape;
}

function contentOf(field: DescField): Content | undefined {
  if (field.fieldKind === "map") {
    const entry = new Map<number, Content>();
    if (field.mapKey === ScalarType.STRING) entry.set(1, "text");
    if (field.message !== undefined) entry.set(2, shapeOf(field.message));
    else if (field.scalar === ScalarType.STRING) entry.set(2, "text");
    return entry;
  }
  if (field.message !== undefined) return shapeOf(field.message);
  return field.scalar === ScalarType.STRING ? "text" : undefined;
}
