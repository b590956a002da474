import { ARGS } from "./options.ts";

interface Shown {
  readonly type: string;
  readonly description: string;
  readonly alias?: string;
  readonly valueHint?: string;
}

const COLUMN = 28;
const WIDTH = 80;

/** What `--help` shows; at most 80 columns. */
export function helpText(): string {
  const options = Object.entries<Shown>(ARGS).flatMap(([name, { alias, valueHint, description }]) => {
    const long = `--${name}${valueHint === undefined ? "" : ` ${valueHint}`}`;
    const head = `  ${alias === undefined ? "" : `-${alias}, `}${long}`;
    const lines = wrapped(description, WIDTH - COLUMN);
    const rest = lines.map((line) => " ".repeat(COLUMN) + line);
    return head.length >= COLUMN - 1 ? [head, ...rest] : [head.padEnd(COLUMN) + (lines[0] ?? ""), ...rest.slice(1)];
  });
  return [
    "Usage: npm run chat -- [options]",
    "",
    "Chats with an agent server; the agent works in a folder of this machine.",
    "Changes and commands are shown and asked for before they are made.",
    "",
    ...options,
    "",
    "Exit codes: 0 done, 1 the turn failed, 2 wrong use, 3 the server cannot be",
    "reached, 130 stopped.",
  ].join("\n");
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
