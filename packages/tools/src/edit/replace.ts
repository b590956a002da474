import { counted, lineAt, lineEnd, withLineEnd } from "../text/lines.ts";

export type Replaced =
  | { readonly ok: true; readonly text: string; readonly count: number }
  | { readonly ok: false; readonly why: string };

export interface Replacement {
  readonly oldString: string;
  readonly newString: string;
  readonly all: boolean;
}

/**
 * Replaces the one place where the old text stands (or all, if asked). The old text may be given with other line ends than
 * the file has; the new text gets the file's own. Why it cannot be done is told so that the model can do it right next time.
 */
export function replaceText(text: string, { oldString, newString, all }: Replacement): Replaced {
  if (oldString === "") return { ok: false, why: "old_string is empty. To write a whole file use Write." };
  if (oldString === newString)
    return { ok: false, why: "old_string and new_string are identical, so nothing would change." };
  const end = lineEnd(text);
  const candidates = [
    oldString,
    withLineEnd(oldString, end),
    withLineEnd(oldString, "\n"),
    withLineEnd(oldString, "\r\n"),
  ];
  const found = candidates.find((candidate) => text.includes(candidate));
  if (found === undefined) return { ok: false, why: notFound(text, oldString) };
  const parts = text.split(found);
  const count = parts.length - 1;
  if (count > 1 && !all) return { ok: false, why: severalPlaces(parts, found) };
  const replaced = parts.join(withLineEnd(newString, end));
  return replaced === text
    ? { ok: false, why: "the file already reads like that, so nothing would change." }
    : { ok: true, text: replaced, count };
}

function severalPlaces(parts: readonly string[], found: string): string {
  const lines: number[] = [];
  const text = parts.join(found);
  let at = 0;
  for (const part of parts.slice(0, 5)) {
    at += part.length;
    if (lines.length < parts.length - 1) lines.push(lineAt(text, at));
    at += found.length;
  }
  const more = parts.length - 1 > lines.length ? ", …" : "";
  return `old_string stands in ${parts.length - 1} places (lines ${lines.join(", ")}${more}). Give more of the text around the one that is meant, or set replace_all.`;
}

/** Looks for the nearest miss: the same lines with other white space. */
function notFound(text: string, oldString: string): string {
  const base = "old_string was not found in the file. It must match exactly, white space and line breaks included.";
  const wanted = squeezed(oldString);
  if (wanted.length === 0) return base;
  const lines = text.split("\n").map((line) => line.trim());
  const start = lines.findIndex((_, index) => wanted.every((line, offset) => lines[index + offset] === line));
  return start < 0
    ? base
    : `${base} ${counted(wanted.length, "line")} from line ${start + 1} ${wanted.length === 1 ? "differs" : "differ"} from it only in white space: read them again.`;
}

function squeezed(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines;
}
