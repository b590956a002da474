/** Bytes of UTF-8 in one delta: clients want small pieces (wire section 4.8). */
export const PIECE_BYTES = 4096;

/**
 * Cuts text into pieces of at most `limit` bytes of UTF-8, each a whole number of characters (case TL-10). No text, no piece.
 * A lone half of a surrogate pair becomes U+FFFD: what is shown and what is stored are the same (case TL-11).
 */
export function pieces(text: string, limit: number = PIECE_BYTES): string[] {
  const whole = text.toWellFormed();
  const cut: string[] = [];
  let start = 0;
  let bytes = 0;
  for (let at = 0; at < whole.length;) {
    const point = whole.codePointAt(at) ?? 0;
    const width = utf8Width(point);
    if (bytes + width > limit && at > start) {
      cut.push(whole.slice(start, at));
      start = at;
      bytes = 0;
    }
    bytes += width;
    at += point > 0xffff ? 2 : 1;
  }
  if (start < whole.length) cut.push(whole.slice(start));
  return cut;
}

function utf8Width(point: number): number {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}
