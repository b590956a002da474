import { utf8Bytes } from "./digest.ts";

/** Longest tool result that a model gets, in bytes of UTF-8. */
export const RESULT_LIMIT = 64 * 1024;

const NOTE_ROOM = 512;
const SNAP = 1024;

/**
 * A text that fits `limit` bytes: whole, or its beginning and end around a note that says how much is missing and how to
 * read it. Looks at nothing but the text, so that the same result is cut the same way for ever.
 */
export function cutText(text: string, limit = RESULT_LIMIT): string {
  // a UTF-16 unit is at most three bytes
  if (text.length * 3 <= limit) return text;
  const total = utf8Bytes(text).byteLength;
  if (total <= limit) return text;
  const room = Math.max(0, limit - NOTE_ROOM);
  const head = headOf(text, Math.floor((room * 3) / 4));
  const tail = tailOf(text, Math.floor(room / 4));
  const left = total - utf8Bytes(head).byteLength - utf8Bytes(tail).byteLength;
  return `${head}\n\n[${left} of ${total} bytes are left out here. To read them, ask for a smaller part: an offset and a limit, a line range, a narrower search, or a command that prints less.]\n\n${tail}`;
}

/** At most `bytes` from the beginning, to the end of a line where one is near. */
function headOf(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  const line = text.lastIndexOf("\n", read - 1);
  return text.slice(0, line > read - SNAP && line > 0 ? line : read);
}

/** At most `bytes` from the end, from the beginning of a line where one is near. */
function tailOf(text: string, bytes: number): string {
  let from = text.length;
  for (let used = 0; from > 0;) {
    const code = text.codePointAt(from - 2);
    const pair = from > 1 && code !== undefined && code > 0xff_ff;
    const unit = text.charCodeAt(from - 1);
    used += pair ? 4 : unit < 0x80 ? 1 : unit < 0x8_00 ? 2 : 3;
    if (used > bytes) break;
    from -= pair ? 2 : 1;
  }
  const line = text.indexOf("\n", from);
  return text.slice(line >= 0 && line < from + SNAP && line < text.length - 1 ? line + 1 : from);
}
