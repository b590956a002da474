/** Escape sequences of a terminal, whole or cut off at the end. */
// oxlint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_]?)/g;
/** Control characters but for tab and line end, and marks that turn the direction of writing. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const TAB = "  ";

/** Text of others made harmless for a terminal: it can neither move the cursor nor hide or reorder anything. */
export function sanitize(text: string): string {
  return text.replaceAll(ESCAPES, "").replaceAll(/\r\n?/g, "\n").replaceAll("\t", TAB).replaceAll(CONTROLS, "");
}

/** The same on one line. */
export function oneLine(text: string): string {
  return sanitize(text)
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}

/** Columns that a text takes in a terminal; it must hold no control characters. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += charWidth(char.codePointAt(0) ?? 0);
  return width;
}

/** The longest beginning of a text that fits into so many columns. */
export function fitting(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const char of text) {
    width += charWidth(char.codePointAt(0) ?? 0);
    if (width > columns) break;
    end += char.length;
  }
  return text.slice(0, end);
}

/** A text cut to so many columns, with `…` where something is missing. */
export function shorten(text: string, columns: number): string {
  return widthOf(text) <= columns ? text : `${fitting(text, Math.max(0, columns - 1))}…`;
}

const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f900, 0x1f9ff],
  [0x1fa70, 0x1faff],
  [0x20000, 0x3fffd],
];

function charWidth(code: number): number {
  if (code < 0x300) return 1;
  // marks that sit on the character before, joiners and variation selectors
  if (code < 0x370 || code === 0x200b || code === 0x200d || (code >= 0xfe00 && code <= 0xfe0f)) return 0;
  if (code >= 0x20d0 && code <= 0x20ff) return 0;
  return WIDE.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}
