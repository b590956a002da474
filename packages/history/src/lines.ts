/*
 * Which arrays were grown from which. Arrays of one line each begin with all shorter ones of it, so that nothing must be
 * compared to know it; what is not known here is compared entry by entry.
 */

interface Line {
  /** Length of its longest array: only that one can be grown on the same line. */
  tip: number;
}

interface Place {
  readonly line: Line;
  /** Leading entries that every longer array of the line has too. */
  readonly fixed: number;
}

const places = new WeakMap<readonly unknown[], Place>();

/** Notes that `longer` was made of `from` and further entries. */
export function grew(from: readonly unknown[], longer: readonly unknown[]): void {
  const known = places.get(from);
  // another one was grown from it already: this is a fork, and begins a line of its own
  const line = known !== undefined && known.line.tip !== from.length ? { tip: 0 } : (known?.line ?? { tip: 0 });
  line.tip = longer.length;
  if (known === undefined) places.set(from, { line, fixed: from.length });
  places.set(longer, { line, fixed: longer.length });
}

/** Puts an array on the line of its maker: its first `fixed` entries are those of every longer array of that line. */
export function place(array: readonly unknown[], line: Line, fixed: number): void {
  places.set(array, { line, fixed });
}

/** A line for one maker of arrays. */
export const newLine = (): Line => ({ tip: 0 });

/** How many leading entries two arrays are known to share; 0: nothing is known. */
export function knownShared(a: readonly unknown[], b: readonly unknown[]): number {
  if (a === b) return a.length;
  const left = places.get(a);
  const right = places.get(b);
  return left !== undefined && left.line === right?.line ? Math.min(left.fixed, right.fixed) : 0;
}
