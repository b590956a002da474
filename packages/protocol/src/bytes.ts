/** Protobuf wire format by hand, for what must not cost a message object: wrapping bytes in nested fields, one text field. */

export const LENGTH_DELIMITED = 2;

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

function writeVarint(target: Uint8Array, at: number, value: number): number {
  let rest = value;
  let to = at;
  while (rest > 0x7f) {
    target[to] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
    to += 1;
  }
  target[to] = rest;
  return to + 1;
}

const SLAB_BYTES = 16 * 1024;
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let used = 0;

/**
 * Memory for one message. Small ones share a slab of their own: in Node's pool a delta that an output log keeps for
 * minutes would hold 64 KiB of what came and went beside it.
 */
function allocate(length: number): Buffer {
  if (length > SLAB_BYTES / 8) return Buffer.allocUnsafeSlow(length);
  if (used + length > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    used = 0;
  }
  used += length;
  return slab.subarray(used - length, used);
}

/**
 * Makes room for a payload inside nested length-delimited fields, `path` from the outermost to the innermost number.
 * Gives the buffer with all tags and lengths written, and the place of the payload, which fills it to the end.
 */
function envelope(path: readonly number[], length: number): { readonly target: Buffer; readonly at: number } {
  const lengths: number[] = [];
  let total = length;
  for (const number of path.toReversed()) {
    lengths.push(total);
    total += varintSize(number * 8) + varintSize(total);
  }
  const target = allocate(total);
  let at = 0;
  for (const number of path) {
    at = writeVarint(target, at, number * 8 + LENGTH_DELIMITED);
    at = writeVarint(target, at, lengths.pop() ?? 0);
  }
  return { target, at };
}

/** `payload` as the only content of nested fields: `[3]` gives field 3 holding it. */
export function wrap(path: readonly number[], payload: Uint8Array): Uint8Array {
  const { target, at } = envelope(path, payload.byteLength);
  target.set(payload, at);
  return target;
}

/** The same for text, written as UTF-8 in place; half a surrogate pair becomes U+FFFD, because the wire takes only valid UTF-8. */
export function wrapText(path: readonly number[], text: string): Uint8Array {
  const { target, at } = envelope(path, Buffer.byteLength(text, "utf8"));
  target.write(text, at, "utf8");
  return target;
}

/** Called for each field of a message: its number and wire type, and where its content lies. `false` stops the scan. */
type FieldVisitor = (number: number, type: number, start: number, end: number) => boolean;

/**
 * Walks over the fields of a serialized message between two places, one level deep. `false` when the visitor stopped it
 * or the bytes are not a protobuf message; groups, which nothing here writes, count as not readable.
 */
export function scanFields(message: Uint8Array, from: number, to: number, visit: FieldVisitor): boolean {
  let at = from;
  /** -1 when it does not end in time. */
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; at < to && scale < 2 ** 70; scale *= 128) {
      const byte = message[at] ?? 0;
      at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return -1;
  };
  while (at < to) {
    const tag = varint();
    if (tag < 0) return false;
    const type = tag % 8;
    let start = at;
    if (type === 0) {
      if (varint() < 0) return false;
    } else if (type === 1 || type === 5) {
      at += type === 1 ? 8 : 4;
    } else if (type === LENGTH_DELIMITED) {
      const length = varint();
      if (length < 0) return false;
      start = at;
      at += length;
    } else {
      return false;
    }
    if (at > to || !visit(Math.floor(tag / 8), type, start, at)) return false;
  }
  return true;
}

/**
 * The payloads of a length-delimited field of a serialized message, in order, exactly as they came.
 * Sees one level only; `undefined` when the bytes are not a protobuf message.
 */
export function fieldPayloads(message: Uint8Array, number: number): readonly Uint8Array[] | undefined {
  const found: Uint8Array[] = [];
  const readable = scanFields(message, 0, message.byteLength, (field, type, start, end) => {
    if (field === number && type === LENGTH_DELIMITED) found.push(message.subarray(start, end));
    return true;
  });
  return readable ? found : undefined;
}

/**
 * The payload of a field that occurs once at each level of `path`; `undefined` when a level has none or several
 * (protobuf would merge several, so there are no single bytes to point at).
 */
export function onlyPayload(message: Uint8Array, path: readonly number[]): Uint8Array | undefined {
  let current: Uint8Array | undefined = message;
  for (const number of path) {
    const payloads: readonly Uint8Array[] | undefined = fieldPayloads(current, number);
    if (payloads?.length !== 1) return undefined;
    current = payloads[0];
    if (current === undefined) return undefined;
  }
  return current;
}
