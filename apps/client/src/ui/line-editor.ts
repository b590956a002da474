/** One line being typed. */
export interface Line {
  readonly text: string;
  /** Position of the cursor, in UTF-16 units. */
  readonly cursor: number;
  /** Lines that were sent, the oldest first. */
  readonly history: readonly string[];
  /** Place in the history; its length while a new line is typed. */
  readonly place: number;
  /** What was typed before the history was looked through. */
  readonly draft: string;
  readonly pasting: boolean;
}

export interface Key {
  readonly name?: string | undefined;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  /** The characters that came. */
  readonly sequence?: string | undefined;
}

export interface Edited {
  readonly line: Line;
  /** `submit`: the line is sent. `interrupt`: Ctrl-C on an empty line. `end`: Ctrl-D on an empty line. */
  readonly action:
    | { readonly kind: "submit"; readonly text: string }
    | { readonly kind: "interrupt" | "end" }
    | undefined;
}

export const EMPTY_LINE: Line = { text: "", cursor: 0, history: [], place: 0, draft: "", pasting: false };
const MAX_HISTORY = 200;

/** What a key does to a line. Pure. */
export function edit(line: Line, key: Key): Edited {
  const only = (next: Partial<Line>): Edited => ({ line: { ...line, ...next }, action: undefined });
  const { text, cursor } = line;
  const at = (position: number) => only({ cursor: Math.max(0, Math.min(text.length, position)) });
  const cut = (from: number, to: number) => only({ text: text.slice(0, from) + text.slice(to), cursor: from });
  const name = key.ctrl ? `ctrl-${key.name}` : key.meta ? `meta-${key.name}` : key.name;
  switch (name) {
    case "paste-start":
      return only({ pasting: true });
    case "paste-end":
      return only({ pasting: false });
    case "return":
      return line.pasting ? insert(line, "\n") : submit(line);
    // Ctrl-J, and line ends in what is pasted
    case "enter":
    case "meta-return":
      return insert(line, "\n");
    case "ctrl-c":
      return text === "" ? { line, action: { kind: "interrupt" } } : only({ text: "", cursor: 0 });
    case "ctrl-d":
      return text === "" ? { line, action: { kind: "end" } } : cut(cursor, after(text, cursor));
    case "backspace":
    case "ctrl-h":
      return cut(before(text, cursor), cursor);
    case "delete":
      return cut(cursor, after(text, cursor));
    case "left":
    case "ctrl-b":
      return at(before(text, cursor));
    case "right":
    case "ctrl-f":
      return at(after(text, cursor));
    case "home":
    case "ctrl-a":
      return at(0);
    case "end":
    case "ctrl-e":
      return at(text.length);
    case "ctrl-left":
    case "meta-b":
      return at(wordStart(text, cursor));
    case "ctrl-right":
    case "meta-f":
      return at(wordEnd(text, cursor));
    case "ctrl-w":
    case "meta-backspace":
      return cut(wordStart(text, cursor), cursor);
    case "ctrl-u":
      return cut(0, cursor);
    case "ctrl-k":
      return cut(cursor, text.length);
    case "up":
    case "ctrl-p":
      return recall(line, line.place - 1);
    case "down":
    case "ctrl-n":
      return recall(line, line.place + 1);
    default:
      return key.ctrl || key.meta ? only({}) : insert(line, printable(key.sequence ?? ""));
  }
}

function insert(line: Line, chars: string): Edited {
  const { text, cursor } = line;
  const next = { ...line, text: text.slice(0, cursor) + chars + text.slice(cursor), cursor: cursor + chars.length };
  return { line: next, action: undefined };
}

function submit(line: Line): Edited {
  const { text, history } = line;
  const kept = text.trim() === "" || history.at(-1) === text ? history : [...history, text].slice(-MAX_HISTORY);
  return { line: { ...EMPTY_LINE, history: kept, place: kept.length }, action: { kind: "submit", text } };
}

function recall(line: Line, place: number): Edited {
  const { history } = line;
  if (place < 0 || place > history.length) return { line, action: undefined };
  const draft = line.place === history.length ? line.text : line.draft;
  const text = history[place] ?? draft;
  return { line: { ...line, text, cursor: text.length, place, draft }, action: undefined };
}

/** Characters of a key; none for keys that a terminal tells with an escape sequence. */
function printable(sequence: string): string {
  if (sequence.startsWith("\x1b")) return "";
  // oxlint-disable-next-line no-control-regex
  return sequence.replaceAll(/[\x00-\x1f\x7f]/g, "");
}

/** Start of the character before a position, marks and joined characters with it. */
function before(text: string, position: number): number {
  const last = [...segments.segment(text.slice(0, position))].at(-1);
  return last?.index ?? 0;
}

function after(text: string, position: number): number {
  const [first] = segments.segment(text.slice(position));
  return position + (first?.segment.length ?? 0);
}

const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function wordStart(text: string, position: number): number {
  return /\S*\s*$/.exec(text.slice(0, position))?.index ?? 0;
}

function wordEnd(text: string, position: number): number {
  return position + (/^\s*\S*/.exec(text.slice(position))?.[0].length ?? 0);
}
