import { Cursor, Unsure, unsure, type ShellScript } from "./cursor.ts";
import { readHeredocs, readRedirect } from "./redirects.ts";
import { readWord, type Word } from "./words.ts";

export type { ShellCommand, ShellRedirect, ShellScript, ShellWord } from "./cursor.ts";

const MAX_LENGTH = 64 * 1024;
/** Words after which a command is expected again. */
const PREFIXES = new Set(["!", "time"]);
/** Words that begin what this parser does not read. */
const UNREAD = new Set(["case", "function", "select", "coproc", "[["]);
/** Words that only end or divide something that must have been begun. */
const CLOSERS = new Set(["then", "elif", "else", "fi", "do", "done", "esac", "in", "}", "]]"]);
/** Reserved words are words without quotes. */
const KEYWORD = /^(?:[a-z]+|[{}!]|\[\[|\]\])/;
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/;

/**
 * Reads a command line of a POSIX-like shell: which commands it runs, with which arguments, and what it redirects. The
 * client's allow list and its approval prompts go by this (wire section 5.3), so it is honest rather than clever: what it
 * does not read for certain (functions, `case`, `[[`, arrays, broken quotes) it gives as `undefined`.
 */
export function parseShell(text: string): ShellScript | undefined {
  if (text.length > MAX_LENGTH || text.includes("\0")) return undefined;
  try {
    const cursor = new Cursor(text.replaceAll("\r\n", "\n"), readList);
    readList(cursor, []);
    if (!cursor.done) unsure();
    return { commands: cursor.commands, redirects: cursor.redirects, substitutes: cursor.substitutes };
  } catch (error) {
    if (error instanceof Unsure) return undefined;
    throw error;
  }
}

function readList(cursor: Cursor, until: readonly string[]): number {
  let count = 0;
  // behind an operator that joins there must be a command, though it may stand on a later line
  for (let joined = false; ; count += 1) {
    skipSeparators(cursor);
    if (!joined && (cursor.done || until.some((end) => isAt(cursor, end)))) break;
    readCommand(cursor);
    cursor.skipBlanks();
    // line ends and comments separate as well; a closing parenthesis ends, or has nothing to end
    joined = !cursor.done && !/[\n)#]/.test(cursor.peek()) && readOperator(cursor);
  }
  // a body that never came
  if (cursor.heredocs.length > 0) unsure();
  return count;
}

/** Reads an operator; gives whether it joins. */
function readOperator(cursor: Cursor): boolean {
  if (cursor.starts(";;")) unsure();
  const operator = ["&&", "||", "|&", "|", "&", ";"].find((one) => cursor.take(one)) ?? unsure();
  return operator !== "&" && operator !== ";";
}

function skipSeparators(cursor: Cursor): void {
  for (;;) {
    cursor.skipBlanks();
    if (cursor.peek() === "#") skipComment(cursor);
    else if (cursor.take("\n")) {
      if (cursor.outerHeredocs) unsure();
      readHeredocs(cursor);
    } else return;
  }
}

function skipComment(cursor: Cursor): void {
  const end = cursor.text.indexOf("\n", cursor.at);
  cursor.at = end < 0 ? cursor.text.length : end;
}

/** Is the cursor at this sign or at this whole word? */
function isAt(cursor: Cursor, end: string): boolean {
  if (!cursor.starts(end)) return false;
  const behind = cursor.text[cursor.at + end.length];
  return end === ")" || behind === undefined || /[\s;&|<>()]/.test(behind);
}

function readCommand(cursor: Cursor): void {
  if (cursor.take("(")) {
    // `((` is arithmetic, or two subshells that look like it
    if (cursor.peek() === "(") unsure();
    readBlock(cursor, ")");
    return readRedirects(cursor);
  }
  const keyword = KEYWORD.exec(cursor.peek(16))?.[0];
  // a reserved word that goes on in the next line may be another word
  if (keyword !== undefined && cursor.starts(`${keyword}\\\n`)) unsure();
  if (keyword !== undefined && isAt(cursor, keyword)) {
    if (UNREAD.has(keyword) || CLOSERS.has(keyword)) unsure();
    if (PREFIXES.has(keyword)) {
      cursor.take(keyword);
      cursor.skipBlanks();
      if (keyword === "time" && isAt(cursor, "-p") && cursor.take("-p")) cursor.skipBlanks();
      return readCommand(cursor);
    }
    const start = cursor.at;
    cursor.take(keyword);
    if (readCompound(cursor, keyword)) return readRedirects(cursor);
    cursor.at = start;
  }
  readSimple(cursor);
}

function readBlock(cursor: Cursor, ...ends: string[]): string {
  const inside = new Cursor(cursor.text, cursor.list, cursor);
  inside.at = cursor.at;
  if (cursor.list(inside, ends) === 0) unsure();
  cursor.at = inside.at;
  cursor.substitutes ||= inside.substitutes;
  return ends.find((end) => isAt(cursor, end) && cursor.take(end)) ?? unsure();
}

/** The rest of a compound command that begins with this word; `false`: it begins none. */
function readCompound(cursor: Cursor, keyword: string): boolean {
  switch (keyword) {
    case "{":
      readBlock(cursor, "}");
      return true;
    case "if":
      readBlock(cursor, "then");
      for (let end = ""; end !== "fi";) {
        end = readBlock(cursor, "elif", "else", "fi");
        if (end === "elif") readBlock(cursor, "then");
      }
      return true;
    case "while":
    case "until":
      readBlock(cursor, "do");
      readBlock(cursor, "done");
      return true;
    case "for":
      readForHead(cursor);
      readBlock(cursor, "done");
      return true;
    default:
      return false;
  }
}

/** `NAME in WORDS; do`. */
function readForHead(cursor: Cursor): void {
  cursor.skipBlanks();
  const name = readWord(cursor);
  if (name?.literal === undefined || !/^\w+$/.test(name.literal)) unsure();
  cursor.skipBlanks();
  if (isAt(cursor, "in") && cursor.take("in"))
    for (cursor.skipBlanks(); readWord(cursor) !== undefined; cursor.skipBlanks());
  if (!cursor.take(";") && cursor.peek() !== "\n") unsure();
  skipSeparators(cursor);
  if (!isAt(cursor, "do")) unsure();
  cursor.take("do");
}

function readRedirects(cursor: Cursor): void {
  cursor.skipBlanks();
  while (readRedirect(cursor)) cursor.skipBlanks();
}

/** Assignments, a name, its arguments, and redirections among them. */
function readSimple(cursor: Cursor): void {
  const words: Word[] = [];
  let start: number | undefined;
  let end = cursor.at;
  let redirected = false;
  for (;;) {
    cursor.skipBlanks();
    if (cursor.peek() === "#" || cursor.done) break;
    if (readRedirect(cursor)) {
      redirected = true;
      continue;
    }
    const before = cursor.at;
    const word = readWord(cursor);
    if (word === undefined) break;
    start ??= before;
    end = cursor.at;
    // a file descriptor that the shell chooses: `{fd}>file`
    if (/^\{\w+\}$/.test(word.value) && /[<>]/.test(cursor.peek())) unsure();
    words.push(word);
  }
  // a function, an array, or a pattern
  if (cursor.peek() === "(") unsure();
  if (words.length === 0 && !redirected) unsure();
  const named = words.findIndex(({ value }) => !ASSIGNMENT.test(value));
  const name = words[named];
  if (name === undefined) return;
  cursor.commands.push({
    name: name.literal || name.value,
    args: words.slice(named + 1).map(({ type, value }) => ({ type, value })),
    fullText: cursor.text.slice(start, end),
  });
}
