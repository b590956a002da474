import { splitLines } from "../workspace/search-text.ts";

export interface DiffLine {
  readonly kind: "same" | "added" | "removed" | "gap";
  /** Line number in the new text; in the old one for a removed line. */
  readonly number: number;
  readonly text: string;
}

export interface Diff {
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
}

const CONTEXT = 2;
/** Beyond so many differing lines the texts are shown as removed and added as a whole. */
const MAX_DISTANCE = 500;

/** The lines in which two texts differ, with a little around them. */
export function diffLines(before: string, after: string): Diff {
  const a = splitLines(before);
  const b = splitLines(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const middle = edits(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const all: DiffLine[] = [
    ...same(b, 0, start),
    ...middle.map((line) => ({ ...line, number: line.number + start })),
    ...same(b, b.length - end, b.length),
  ];
  return {
    lines: withContext(all),
    added: all.filter(({ kind }) => kind === "added").length,
    removed: all.filter(({ kind }) => kind === "removed").length,
  };
}

function same(lines: readonly string[], from: number, to: number): DiffLine[] {
  return lines.slice(from, to).map((text, index) => ({ kind: "same", number: from + index + 1, text }));
}

/** Myers' greedy shortest edit script. */
function edits(a: readonly string[], b: readonly string[]): DiffLine[] {
  const trace: Map<number, number>[] = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let d = 0; d <= a.length + b.length; d++) {
    if (d > MAX_DISTANCE) return [...whole(a, "removed"), ...whole(b, "added")];
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reach.get(k - 1) ?? 0) < (reach.get(k + 1) ?? 0));
      let x = down ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return backtrack(a, b, trace, d);
    }
    reach = new Map(reach);
  }
  return [];
}

function backtrack(a: readonly string[], b: readonly string[], trace: readonly Map<number, number>[], last: number) {
  const lines: DiffLine[] = [];
  let x = a.length;
  let y = b.length;
  for (let d = last; d >= 0; d--) {
    const reach = trace[d] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? 0) < (reach.get(k + 1) ?? 0));
    const fromX = d === 0 ? 0 : (reach.get(down ? k + 1 : k - 1) ?? 0);
    const fromY = d === 0 ? 0 : fromX - (down ? k + 1 : k - 1);
    while (x > fromX && y > fromY) {
      lines.push({ kind: "same", number: y, text: b[y - 1] ?? "" });
      x -= 1;
      y -= 1;
    }
    if (d === 0) break;
    if (down) lines.push({ kind: "added", number: y, text: b[y - 1] ?? "" });
    else lines.push({ kind: "removed", number: x, text: a[x - 1] ?? "" });
    x = fromX;
    y = fromY;
  }
  return lines.toReversed();
}

function whole(lines: readonly string[], kind: "added" | "removed"): DiffLine[] {
  return lines.map((text, index) => ({ kind, number: index + 1, text }));
}

function withContext(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind === "same") continue;
    for (let at = index - CONTEXT; at <= index + CONTEXT; at++) near.add(at);
  }
  const shown: DiffLine[] = [];
  let gap = false;
  for (const [index, line] of lines.entries()) {
    if (near.has(index)) {
      if (gap && shown.length > 0) shown.push({ kind: "gap", number: 0, text: "" });
      shown.push(line);
      gap = false;
    } else gap = true;
  }
  return shown;
}
