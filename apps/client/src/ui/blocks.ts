import { alwaysCovers, type ApprovalRequest } from "../execution/consent.ts";
import type { TurnResult, TurnUsage } from "../session/events.ts";
import { type Diff, diffLines } from "./diff.ts";
import type { Styles } from "./style.ts";
import { oneLine, sanitize, shorten } from "./text.ts";

const MAX_DIFF_ROWS = 60;

/** Rows of a diff with line numbers, cut at a bound. */
export function diffRows(diff: Diff, styles: Styles, width: number): string[] {
  const digits = String(Math.max(...diff.lines.map(({ number }) => number), 1)).length;
  const rows = diff.lines.slice(0, MAX_DIFF_ROWS).map(({ kind, number, text }) => {
    if (kind === "gap") return styles.dim(`  ${" ".repeat(digits)} …`);
    const sign = { same: " ", added: "+", removed: "-" }[kind];
    const row = shorten(`  ${String(number).padStart(digits)} ${sign} ${sanitize(text)}`, width).trimEnd();
    return kind === "added" ? styles.green(row) : kind === "removed" ? styles.red(row) : styles.dim(row);
  });
  const more = diff.lines.length - MAX_DIFF_ROWS;
  return more > 0 ? [...rows, styles.dim(`  … ${more} more lines`)] : rows;
}

/** What is asked, shown before the question itself. */
export function approvalRows(request: ApprovalRequest, styles: Styles, width: number): string[] {
  switch (request.kind) {
    case "write": {
      const diff = diffLines(request.before ?? "", request.after);
      const verb = request.before === undefined ? "Create" : "Change";
      return [
        head(verb, `${oneLine(request.path)}  +${diff.added} −${diff.removed}`, styles, width),
        ...diffRows(diff, styles, width),
      ];
    }
    case "delete":
      return [head("Delete", oneLine(request.path), styles, width)];
    case "command": {
      const place = request.cwd === "" ? "" : ` in ${oneLine(request.cwd)}`;
      const lines = sanitize(request.command).split("\n");
      return [
        head(
          request.background ? "Run in the background" : "Run",
          `${oneLine(request.description)}${place}`.trim(),
          styles,
          width,
        ),
        // the whole command: what is cut off is what hurts
        ...lines.flatMap((line, index) => hardRows(`${index === 0 ? "  $ " : "    "}${line}`, width).map(styles.bold)),
      ];
    }
    case "mcp":
      return [
        head("Call", `${oneLine(request.tool)} of ${oneLine(request.server)}`, styles, width),
        ...hardRows(`  ${oneLine(request.args)}`, width),
      ];
    case "server":
      return [head("Allow", `${request.what}: ${oneLine(request.detail)}`, styles, width)];
  }
}

/** The question that follows. */
export function approvalQuestion(request: ApprovalRequest): string {
  return `Allow? [y]es  [n]o  [a]lways: ${oneLine(alwaysCovers(request))} `;
}

/** How a turn ended, where it did not end well. */
export function resultRows(result: TurnResult, styles: Styles): string[] {
  if (result.outcome === "cancelled") return [styles.yellow("■ Stopped.")];
  if (result.outcome === "completed" || result.error === undefined) return [];
  const { title, detail, retryable, code } = result.error;
  return [
    styles.red(`✗ ${oneLine(title)}`),
    ...(detail === ""
      ? []
      : sanitize(detail)
          .split("\n")
          .map((line) => `  ${line}`)),
    styles.dim(`  ${code}${retryable ? ", may be tried again" : ""} · request ${result.requestId}`),
  ];
}

/** Token use in one line; empty where nothing is known. */
export function usageRow(usage: TurnUsage, context: { used: number; max: number } | undefined): string {
  const parts = [
    counted(usage.inputTokens, "in"),
    counted(usage.outputTokens, "out"),
    counted(usage.cacheReadTokens, "from cache"),
    counted(usage.reasoningTokens, "thinking"),
  ].filter((part) => part !== "");
  if (context !== undefined && context.max > 0) {
    parts.push(`context ${Math.round((context.used / context.max) * 100)} % of ${short(context.max)}`);
  }
  return parts.join(" · ");
}

/** `1234` → `1.2k`. */
export function short(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${trimmed(count / 1000)}k`;
  return `${trimmed(count / 1_000_000)}M`;
}

export function seconds(ms: number): string {
  const whole = Math.floor(ms / 1000);
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function counted(count: number | undefined, what: string): string {
  return count === undefined || count === 0 ? "" : `${short(count)} ${what}`;
}

function trimmed(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

function head(verb: string, about: string, styles: Styles, width: number): string {
  const text = shorten(about, Math.max(10, width - verb.length - 3));
  return `${styles.yellow("?")} ${styles.bold(verb)}${text === "" ? "" : ` ${text}`}`;
}

/** A line cut into rows of the width, with nothing left out. */
function hardRows(line: string, width: number): string[] {
  const rows: string[] = [];
  for (let at = 0; at < line.length || rows.length === 0; at += width) rows.push(line.slice(at, at + width));
  return rows;
}
