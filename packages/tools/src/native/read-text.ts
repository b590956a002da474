import { countLines, linesOf } from "../text/lines.ts";

/** The part of a file that an answer holds. Line numbers count from 1; an empty part ends before it begins. */
export interface ReadWindow {
  readonly content: string;
  readonly firstLine: number;
  readonly lastLine: number;
  /** It is (or was asked to be) a part of the file. */
  readonly ranged: boolean;
}

export interface FileFacts {
  readonly totalLines: number;
  readonly truncated: boolean;
  readonly rangeApplied: boolean;
}

/**
 * The part that was asked for. Some clients answer a ranged read with the whole file: it is one that has all lines of the
 * file and does not say that the range was applied, and the part is then cut out here.
 */
export function readWindow(
  content: string,
  facts: FileFacts,
  asked: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): ReadWindow {
  const ranged = asked.offset !== undefined || asked.limit !== undefined;
  const first = asked.offset ?? 1;
  const count = countLines(content);
  const isWhole = !facts.rangeApplied && facts.totalLines > 0 && count >= facts.totalLines;
  if (!ranged || !isWhole) return { content, firstLine: first, lastLine: first + count - 1, ranged };
  const lines = content
    .split(/(?<=\n)/)
    .slice(first - 1, asked.limit === undefined ? undefined : first - 1 + asked.limit);
  return { content: lines.join(""), firstLine: first, lastLine: first + lines.length - 1, ranged };
}

/** What the model reads: numbered lines, and what it should know about the rest of the file. */
export function readText(window: ReadWindow, facts: FileFacts): string {
  const lines = linesOf(window.content);
  const total = Math.max(facts.totalLines, 0);
  if (lines.length === 0)
    return window.ranged && total > 0
      ? `No lines there: the file has ${total} lines, line ${window.firstLine} was asked for.`
      : "The file is empty.";
  const numbered = lines.map((line, index) => `${String(window.firstLine + index).padStart(6)}|${line}`);
  const more = total > window.lastLine;
  const notes = [
    ...(facts.truncated ? ["The client cut this content off. Read the rest with offset and limit."] : []),
    ...(more ? [`Lines ${window.firstLine} to ${window.lastLine} of ${total}.`] : []),
  ];
  return [numbered.join("\n"), ...(notes.length > 0 ? [`[${notes.join(" ")}]`] : [])].join("\n\n");
}
