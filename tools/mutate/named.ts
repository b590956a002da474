import type { Mutant } from "./mutant.ts";
import { readSource } from "./source.ts";
import type { SuiteName } from "./suites.ts";

/** A fault that is written out: a text of a file, of which there is one, and what stands there instead. */
export interface Fault {
  readonly what: string;
  readonly file: string;
  /** Pairs of a text and its replacement; several are one fault. */
  readonly changes: readonly (readonly [from: string, to: string])[];
  readonly suites: readonly SuiteName[];
}

/** The mutants of the faults that are written out; throws for one whose place is gone or is there twice. */
export function namedMutants(root: string, faults: readonly Fault[]): readonly Mutant[] {
  return faults.map(({ what, file, changes, suites }) => {
    const { text } = readSource(root, file);
    const edits = changes.map(([from, to]) => {
      const [before, ...after] = text.split(from);
      if (before === undefined || after.length !== 1)
        throw new Error(`${file}: ${what}: ${after.length} places for \`${from}\`, there must be one`);
      return { start: before.length, end: before.length + from.length, text: to };
    });
    return { id: `${file}: ${what}`, file, suites, edits: edits.toSorted((a, b) => a.start - b.start) };
  });
}
