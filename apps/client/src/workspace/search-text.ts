/** A line of a file that was found, or one around it. */
export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** The text was cut. */
  readonly cut: boolean;
  readonly context: boolean;
}

export interface TextHits {
  readonly lines: readonly Line[];
  /** Lines that match, which is what ripgrep counts. */
  readonly matched: number;
}

export interface TextSearch {
  /** With the flag `g`. */
  readonly regex: RegExp;
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
}

const MAX_LINE_CHARS = 2000;

/** The lines of a text that a pattern is in, with lines around them, each once and in order. */
export function searchText(text: string, search: TextSearch): TextHits {
  const lines = splitLines(text);
  const matching = search.multiline ? spanned(text, lines, search.regex) : single(lines, search.regex);
  const wanted = new Set<number>();
  for (const index of matching) {
    const end = Math.min(lines.length - 1, index + search.after);
    for (let at = Math.max(0, index - search.before); at <= end; at++) wanted.add(at);
  }
  const shown = [...wanted]
    .toSorted((a, b) => a - b)
    .map((index): Line => {
      const line = lines[index] ?? "";
      const cut = line.length > MAX_LINE_CHARS;
      return {
        number: index + 1,
        text: cut ? line.slice(0, MAX_LINE_CHARS).toWellFormed() : line,
        cut,
        context: !matching.has(index),
      };
    });
  return { lines: shown, matched: matching.size };
}

/** Lines without their ends; a line end at the very end begins no further line. */
export function splitLines(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function single(lines: readonly string[], regex: RegExp): Set<number> {
  const found = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.search(regex) >= 0) found.add(index);
  }
  return found;
}

function spanned(text: string, lines: readonly string[], regex: RegExp): Set<number> {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const found = new Set<number>();
  let line = 0;
  for (const match of text.matchAll(regex)) {
    while (line + 1 < starts.length && (starts[line + 1] ?? 0) <= match.index) line += 1;
    const end = match.index + Math.max(0, match[0].length - 1);
    for (let at = line; at < lines.length && (starts[at] ?? 0) <= end; at++) found.add(at);
  }
  return found;
}
