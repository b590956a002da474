import { counted } from "../text/lines.ts";
import type { agent } from "../wire.ts";

/** A search result as ripgrep would print it with headings. Workspaces and files keep the order of their names. */
export function grepText(success: agent.GrepSuccess): string {
  const workspaces = Object.entries(success.workspaceResults).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const sections = workspaces
    .map(([root, result]) => ({ root, text: unionText(result) }))
    .filter(({ text }) => text !== "");
  const active = success.activeEditorResult === undefined ? "" : unionText(success.activeEditorResult);
  const parts = [
    ...(active === "" ? [] : [`Open editor:\n${active}`]),
    ...sections.map(({ root, text }) => (workspaces.length > 1 ? `${root}:\n${text}` : text)),
  ];
  return parts.length === 0 ? "No matches found." : parts.join("\n\n");
}

function unionText({ result }: agent.GrepUnionResult): string {
  switch (result.case) {
    case "content":
      return withNote(
        contentText(result.value),
        truncation(result.value, result.value.totalMatchedLines, "matching line"),
      );
    case "files":
      return withNote(result.value.files.join("\n"), truncation(result.value, result.value.totalFiles, "file"));
    case "count":
      return withNote(
        result.value.counts.map(({ file, count }) => `${file}:${count}`).join("\n"),
        truncation(result.value, result.value.totalFiles, "file"),
      );
    case undefined:
      return "";
  }
}

function contentText({ matches }: agent.GrepContentResult): string {
  return matches
    .filter((file) => file.matches.length > 0)
    .map(({ file, matches: lines }) => `${file}\n${fileLines(lines)}`)
    .join("\n\n");
}

/** With context, what does not follow line by line is kept apart by `--`. */
function fileLines(lines: readonly agent.GrepContentMatch[]): string {
  const hasContext = lines.some(({ isContextLine }) => isContextLine);
  return lines
    .flatMap(({ lineNumber, content, contentTruncated, isContextLine }, index) => {
      const previous = lines[index - 1];
      const gap = hasContext && previous !== undefined && lineNumber > previous.lineNumber + 1 ? ["--"] : [];
      const text = content.replace(/\r?\n$/, "");
      return [...gap, `${lineNumber}${isContextLine ? "-" : ":"}${text}${contentTruncated ? " […]" : ""}`];
    })
    .join("\n");
}

interface Limits {
  readonly clientTruncated: boolean;
  readonly ripgrepTruncated: boolean;
  readonly headLimitApplied?: number | undefined;
}

function truncation(limits: Limits, total: number, noun: string): string {
  const of = total > 0 ? ` of ${counted(total, noun)}` : "";
  if (limits.headLimitApplied !== undefined && limits.headLimitApplied > 0 && limits.headLimitApplied < total)
    return `[the first ${limits.headLimitApplied}${of}]`;
  return limits.clientTruncated || limits.ripgrepTruncated
    ? `[cut off; there is more${of === "" ? "" : ` (${of.slice(4)} in all)`}. Narrow the search.]`
    : "";
}

const withNote = (text: string, note: string): string => (note === "" || text === "" ? text : `${text}\n\n${note}`);
