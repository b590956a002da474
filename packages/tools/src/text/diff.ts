/** What a change did to the lines of a file. `unified` has hunks without file headers; it is empty when no line differs. */
export interface LineDiff {
  readonly added: number;
  readonly removed: number;
  readonly unified: string;
  /** First changed line of the new text, from 1; 0 when no line differs. */
  readonly firstLine: number;
}

interface Edit {
  readonly kind: " " | "-" | "+";
  readonly line: string;
}

const CONTEXT = 3;
/** Cells of the comparison table; a larger change is shown as a whole block taken out and a whole block put in. */
const MAX_CELLS = 4_000_000;

/** Compares by lines, line ends included, so that a changed line end is a changed line. */
export function diffLines(before: string, after: string): LineDiff {
  const edits = editsOf(split(before), split(after));
  const added = edits.filter(({ kind }) => kind === "+").length;
  const removed = edits.filter(({ kind }) => kind === "-").length;
  const first = edits.findIndex(({ kind }) => kind !== " ");
  return { added, removed, unified: unifiedOf(edits), firstLine: first < 0 ? 0 : first + 1 };
}

function split(text: string): string[] {
  const lines = text.split(/(?<=\n)/);
  return text === "" ? [] : lines;
}

function editsOf(before: readonly string[], after: readonly string[]): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail += 1;
  const same = (lines: readonly string[]): Edit[] => lines.map((line) => ({ kind: " ", line }));
  return [
    ...same(before.slice(0, head)),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

/** The shortest way from one block to the other, by a table of longest common subsequences. */
function middle(before: readonly string[], after: readonly string[]): Edit[] {
  const width = after.length + 1;
  if ((before.length + 1) * width > MAX_CELLS) return [...taken(before), ...put(after)];
  const common = new Uint32Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row -= 1)
    for (let column = after.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        before[row] === after[column]
          ? common[(row + 1) * width + column + 1]! + 1
          : Math.max(common[(row + 1) * width + column]!, common[row * width + column + 1]!);
  const edits: Edit[] = [];
  let row = 0;
  let column = 0;
  while (row < before.length && column < after.length) {
    if (before[row] === after[column]) {
      edits.push({ kind: " ", line: before[row]! });
      row += 1;
      column += 1;
    } else if (common[(row + 1) * width + column]! >= common[row * width + column + 1]!) {
      edits.push({ kind: "-", line: before[row]! });
      row += 1;
    } else {
      edits.push({ kind: "+", line: after[column]! });
      column += 1;
    }
  }
  return [...edits, ...taken(before.slice(row)), ...put(after.slice(column))];
}

const taken = (lines: readonly string[]): Edit[] => lines.map((line) => ({ kind: "-", line }));
const put = (lines: readonly string[]): Edit[] => lines.map((line) => ({ kind: "+", line }));

function unifiedOf(edits: readonly Edit[]): string {
  const hunks: string[] = [];
  for (let at = 0; at < edits.length;) {
    if (edits[at]!.kind === " ") {
      at += 1;
      continue;
    }
    const start = Math.max(0, at - CONTEXT);
    const end = endOfHunk(edits, at);
    hunks.push(hunk(edits, start, end));
    at = end;
  }
  return hunks.join("");
}

/** Changes closer to each other than twice the context share a hunk. */
function endOfHunk(edits: readonly Edit[], from: number): number {
  let last = from;
  for (let at = from; at < edits.length && at - last <= 2 * CONTEXT; at += 1) if (edits[at]!.kind !== " ") last = at;
  return Math.min(edits.length, last + CONTEXT + 1);
}

function hunk(edits: readonly Edit[], start: number, end: number): string {
  const before = edits.slice(0, start).filter(({ kind }) => kind !== "+").length;
  const after = edits.slice(0, start).filter(({ kind }) => kind !== "-").length;
  const inside = edits.slice(start, end);
  const removed = inside.filter(({ kind }) => kind !== "+").length;
  const added = inside.filter(({ kind }) => kind !== "-").length;
  const range = (from: number, count: number) =>
    count === 1 ? `${from + 1}` : `${count === 0 ? from : from + 1},${count}`;
  const lines = inside.map(({ kind, line }) =>
    line.endsWith("\n") ? `${kind}${line}` : `${kind}${line}\n\\ No newline at end of file\n`,
  );
  return `@@ -${range(before, removed)} +${range(after, added)} @@\n${lines.join("")}`;
}
