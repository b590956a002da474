/** Lines of a text without their ends; a line end at the very end opens no further line. */
export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export function countLines(text: string): number {
  if (text === "") return 0;
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return text.endsWith("\n") ? count : count + 1;
}

/** Number of the line, from 1, in which the character at `index` stands. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** How a text ends its lines: `\r\n` when most of them do, else `\n`. */
export function lineEnd(text: string): "\r\n" | "\n" {
  const all = text.match(/\n/g)?.length ?? 0;
  const carriage = text.match(/\r\n/g)?.length ?? 0;
  return carriage > all - carriage ? "\r\n" : "\n";
}

/** The text with every line end as `end`. */
export function withLineEnd(text: string, end: "\r\n" | "\n"): string {
  return end === "\n" ? text.replaceAll("\r\n", "\n") : text.replaceAll(/\r?\n/g, "\r\n");
}

/** `1 line`, `2 lines`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
