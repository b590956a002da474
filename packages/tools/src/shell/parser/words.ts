import { Cursor, unsure, type ShellWord, type WordType } from "./cursor.ts";

export interface Word extends ShellWord {
  /** What the shell would make of it, where that needs no expansion. */
  readonly literal: string | undefined;
}

interface Part {
  readonly type: WordType;
  readonly literal: string | undefined;
}

const END_OF_WORD = /[\s;&|<>()]/;

/** Reads a word, or gives `undefined` where none begins. */
export function readWord(cursor: Cursor): Word | undefined {
  const start = cursor.at;
  const parts: Part[] = [];
  while (!cursor.done) {
    const part = readPart(cursor);
    if (part === undefined) break;
    parts.push(part);
  }
  if (parts.length === 0) return undefined;
  const literals = parts.map(({ literal }) => literal);
  return {
    type: parts.length === 1 ? parts[0]!.type : "concatenation",
    value: cursor.text.slice(start, cursor.at),
    literal: literals.every((literal) => literal !== undefined) ? literals.join("") : undefined,
  };
}

function readPart(cursor: Cursor): Part | undefined {
  if (cursor.starts("<(") || cursor.starts(">(")) {
    cursor.at += 1;
    readSubstitution(cursor);
    return { type: "process_substitution", literal: undefined };
  }
  const char = cursor.peek();
  if (char === "'") return { type: "raw_string", literal: readRaw(cursor) };
  if (char === '"') return { type: "string", literal: readQuoted(cursor) };
  if (char === "$" || char === "`") return readDollar(cursor);
  if (END_OF_WORD.test(char)) return undefined;
  return { type: "word", literal: readPlain(cursor) };
}

function readPlain(cursor: Cursor): string {
  let literal = "";
  while (!cursor.done) {
    const char = cursor.peek();
    if (END_OF_WORD.test(char) || /['"$`]/.test(char)) break;
    if (char === "\\") {
      if (cursor.take("\\\n")) continue;
      // a backslash at the very end continues on a line that is not there
      if (cursor.at + 1 >= cursor.text.length) unsure();
      literal += cursor.text[cursor.at + 1];
      cursor.at += 2;
    } else {
      literal += char;
      cursor.at += 1;
    }
  }
  return literal;
}

function readRaw(cursor: Cursor): string {
  const end = cursor.text.indexOf("'", cursor.at + 1);
  if (end < 0) unsure();
  const literal = cursor.text.slice(cursor.at + 1, end);
  cursor.at = end + 1;
  return literal;
}

/** Text in double quotes, the opening one included; `undefined` when something in it is expanded. */
function readQuoted(cursor: Cursor): string | undefined {
  cursor.at += 1;
  const start = cursor.at;
  const expands = readExpanding(cursor, '"');
  const inside = cursor.text.slice(start, cursor.at);
  cursor.at += 1;
  return expands ? undefined : inside.replaceAll(/\\([\\"$`\n])/g, (_, char: string) => (char === "\n" ? "" : char));
}

/** Reads on to `end`, which is left, through everything that is expanded on the way; gives whether anything was. */
function readExpanding(cursor: Cursor, end: string): boolean {
  let expands = false;
  while (!cursor.starts(end)) {
    if (cursor.done) unsure();
    const char = cursor.peek();
    if (char === "\\") cursor.at += 2;
    else if (char === "$" || char === "`") {
      const part = readDollar(cursor);
      expands ||= part.literal === undefined;
    } else if (end === "}" && char === "'") readRaw(cursor);
    else if (end === "}" && char === '"') readQuoted(cursor);
    else cursor.at += 1;
  }
  return expands;
}

/** Something that begins with a dollar sign or a backtick. */
function readDollar(cursor: Cursor): Part {
  if (cursor.peek() === "`") {
    readBackticks(cursor);
    return { type: "command_substitution", literal: undefined };
  }
  if (cursor.starts("$((")) {
    cursor.at += 3;
    readArithmetic(cursor);
    return { type: "arithmetic_expansion", literal: undefined };
  }
  if (cursor.starts("$(")) {
    cursor.at += 1;
    readSubstitution(cursor);
    return { type: "command_substitution", literal: undefined };
  }
  if (cursor.take("${")) {
    if (!/^(?:[#!]?[\w@*?$-]|[#!]\})/.test(cursor.peek(2))) unsure();
    readExpanding(cursor, "}");
    cursor.at += 1;
    return { type: "expansion", literal: undefined };
  }
  if (cursor.starts("$'")) {
    readAnsiC(cursor);
    return { type: "ansi_c_string", literal: undefined };
  }
  if (cursor.starts('$"')) {
    cursor.at += 1;
    return { type: "string", literal: readQuoted(cursor) };
  }
  const name = /^\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])/.exec(cursor.text.slice(cursor.at, cursor.at + 256))?.[0];
  if (name === undefined) {
    // the name may follow in the next line
    if (cursor.starts("$\\\n")) unsure();
    cursor.at += 1;
    return { type: "word", literal: "$" };
  }
  cursor.at += name.length;
  return { type: "simple_expansion", literal: undefined };
}

/** `( … )`, at its opening parenthesis: the commands in it are commands of the script. */
function readSubstitution(cursor: Cursor): void {
  cursor.substitutes = true;
  cursor.at += 1;
  const inside = new Cursor(cursor.text, cursor.list, cursor);
  inside.at = cursor.at;
  cursor.list(inside, [")"]);
  cursor.at = inside.at;
  if (!cursor.take(")")) unsure();
}

function readBackticks(cursor: Cursor): void {
  cursor.substitutes = true;
  let inside = "";
  cursor.at += 1;
  while (cursor.peek() !== "`") {
    if (cursor.done) unsure();
    if (cursor.peek() === "\\" && /[\\`$]/.test(cursor.text[cursor.at + 1] ?? "")) cursor.at += 1;
    inside += cursor.peek();
    cursor.at += 1;
  }
  cursor.at += 1;
  const script = new Cursor(inside, cursor.list, cursor);
  cursor.list(script, []);
  if (!script.done) unsure();
}

/** After `$((`, through `))`. Two substitutions that only look like arithmetic end elsewhere: then nothing is sure. */
function readArithmetic(cursor: Cursor): void {
  let open = 0;
  for (;;) {
    if (cursor.done || /['"`\\]/.test(cursor.peek())) unsure();
    if (cursor.peek() === "$") readDollar(cursor);
    else if (cursor.take("(")) open += 1;
    else if (open === 0 && cursor.take("))")) return;
    else if (cursor.take(")")) {
      if (open === 0) unsure();
      open -= 1;
    } else cursor.at += 1;
  }
}

function readAnsiC(cursor: Cursor): void {
  cursor.at += 2;
  while (cursor.peek() !== "'") {
    if (cursor.done) unsure();
    cursor.at += cursor.peek() === "\\" ? 2 : 1;
  }
  cursor.at += 1;
}

/** What a here-document's body expands; its quotes mean nothing. */
export function readBody(body: string, cursor: Cursor): void {
  const inside = new Cursor(body, cursor.list, cursor);
  while (!inside.done) {
    const char = inside.peek();
    if (char === "\\") inside.at += 2;
    else if (char === "$" || char === "`") readDollar(inside);
    else inside.at += 1;
  }
  cursor.substitutes ||= inside.substitutes;
}
