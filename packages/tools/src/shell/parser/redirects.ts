import { unsure, type Cursor, type ShellRedirect } from "./cursor.ts";
import { readBody, readWord } from "./words.ts";

const OPERATOR = /^(\d{1,3})?(&>>|&>|<<<|<<-|<<|<>|<&|<|>>|>&|>\||>)/;

/** Reads a redirection where one begins. */
export function readRedirect(cursor: Cursor): boolean {
  const match = OPERATOR.exec(cursor.peek(8));
  if (match === null) return false;
  const [whole, fd, operator = ""] = match;
  if (fd !== undefined && operator.startsWith("&")) return false;
  const behind = cursor.text[cursor.at + whole.length];
  // `<(` and `>(` begin a word
  if (behind === "(" && (operator === "<" || operator === ">")) return false;
  cursor.at += whole.length;
  cursor.skipBlanks();
  // a comment is no target
  if (cursor.peek() === "#") unsure();
  const target = readWord(cursor) ?? unsure();
  // the number of a further redirection is no target either
  if (/^\d+$/.test(target.value) && /[<>]/.test(cursor.peek())) unsure();
  if (operator === "<<" || operator === "<<-") {
    const quoted = target.value !== target.literal;
    if (target.literal === undefined) unsure();
    cursor.heredocs.push({ delimiter: target.literal, stripTabs: operator === "<<-", quoted });
  }
  cursor.redirects.push({ operator, fds: fdsOf(fd, operator, target.value), target });
  return true;
}

function fdsOf(fd: string | undefined, operator: string, target: string): number[] {
  if (fd !== undefined) return [Number(fd)];
  if (operator.startsWith("<")) return [0];
  const both = operator.startsWith("&") || (operator === ">&" && !isFd(target));
  return both ? [1, 2] : [1];
}

const isFd = (target: string): boolean => /^(?:\d+-?|-)$/.test(target);

/** A redirection that only joins or closes file descriptors. */
export function isDuplication({ operator, target }: ShellRedirect): boolean {
  return (operator === ">&" || operator === "<&") && isFd(target.value);
}

/** After a line end: the bodies of the here-documents that the line began. */
export function readHeredocs(cursor: Cursor): void {
  for (const { delimiter, stripTabs, quoted } of cursor.heredocs.splice(0)) {
    const body: string[] = [];
    for (;;) {
      if (cursor.done) unsure();
      const end = cursor.text.indexOf("\n", cursor.at);
      const line = cursor.text.slice(cursor.at, end < 0 ? undefined : end);
      cursor.at = end < 0 ? cursor.text.length : end + 1;
      if ((stripTabs ? line.replace(/^\t+/, "") : line) === delimiter) break;
      body.push(line);
    }
    if (!quoted) readBody(body.join("\n"), cursor);
  }
}
