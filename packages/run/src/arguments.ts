/** Argument text as JSON of an object, or why it is none. */
export type ReadArguments =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads the argument text of a tool call. Valid JSON of an object comes back as it is, byte for byte. What is broken in only
 * one possible way is repaired (case TL-04):
 *
 * - nothing at all, or `null`: a call without arguments, `{}`;
 * - a JSON string that holds the JSON of an object: what it holds;
 * - an object and then the same object again, or an empty object and then another: the one that says something;
 * - a backslash that begins no JSON escape (`"C:\Users"`): the backslash itself;
 * - line breaks, tabs and other control characters inside a string: their escapes;
 * - a comma before a closing brace or bracket: left out.
 *
 * Everything else is an error: text that was cut, two different objects, a value that is no object.
 */
export function readArguments(text: string): ReadArguments {
  const direct = parse(text);
  if (direct.ok && isObject(direct.value)) return { ok: true, text };
  if (text.trim() === "" || (direct.ok && direct.value === null)) return { ok: true, text: "{}" };
  if (direct.ok && typeof direct.value === "string") {
    const inner = parse(direct.value);
    if (inner.ok && isObject(inner.value)) return { ok: true, text: direct.value };
  }
  if (direct.ok) return { ok: false, reason: "The arguments are not a JSON object." };
  const repaired = mend(text);
  const objects = split(repaired);
  if (objects === undefined) return { ok: false, reason: "The arguments are not valid JSON, or were cut." };
  const telling = distinct(objects.filter(({ value }) => Object.keys(value).length > 0));
  if (telling.length > 1) return { ok: false, reason: "The arguments are several different JSON objects." };
  return { ok: true, text: (telling[0] ?? objects[0])?.text ?? "{}" };
}

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

function parse(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Mends what has only one reading: lone backslashes and control characters in strings, commas before a closing bracket. */
function mend(text: string): string {
  let out = "";
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (!inString) {
      if (char === "," && /^\s*[}\]]/.test(text.slice(at + 1, at + 200))) continue;
      inString = char === '"';
      out += char;
    } else if (char === "\\") {
      const escape = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(at, at + 6))?.[0];
      out += escape ?? "\\\\";
      at += escape === undefined ? 0 : escape.length - 1;
    } else {
      if (char === '"') inString = false;
      out += char < " " ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}` : char;
    }
  }
  return out;
}

interface Piece {
  readonly text: string;
  readonly value: Record<string, unknown>;
}

/** Splits text into the JSON objects that it is made of; `undefined` when something else is between or around them. */
function split(text: string): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  let depth = 0;
  let start = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (inString) {
      if (char === "\\") at++;
      else if (char === '"') inString = false;
      continue;
    }
    if (char === '"') inString = true;
    if (char === "{" || char === "[") depth++;
    if (depth === 0 && !/\s/.test(char)) return undefined;
    if ((char === "}" || char === "]") && --depth === 0) {
      const one = text.slice(start, at + 1).trim();
      const parsed = parse(one);
      if (!parsed.ok || !isObject(parsed.value)) return undefined;
      pieces.push({ text: one, value: parsed.value });
      start = at + 1;
    }
  }
  return depth === 0 && !inString && pieces.length > 0 ? pieces : undefined;
}

function distinct(pieces: readonly Piece[]): readonly Piece[] {
  const seen = new Map<string, Piece>();
  for (const piece of pieces) {
    const key = canonical(piece.value);
    if (!seen.has(key)) seen.set(key, piece);
  }
  return [...seen.values()];
}

/** JSON with sorted keys, so that equal values have equal text. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.keys(value).toSorted();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}
