import { parseSync } from "oxc-parser";
import type { SuiteName } from "./suites.ts";

/** Replaces the text between two places, UTF-16 units from the beginning of the file. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** One fault put into the sources on purpose. */
export interface Mutant {
  /** What is wrong and where, in words that stand while lines move: `file: place: what`. Unique. */
  readonly id: string;
  /** From the workspace's root. */
  readonly file: string;
  /** In the order of the text, without overlap. */
  readonly edits: readonly Edit[];
  /** What the fault needs in a second file. */
  readonly beside?: { readonly file: string; readonly edits: readonly Edit[] };
  /** What should notice, the most likely and fastest first. */
  readonly suites: readonly SuiteName[];
}

/** The files with the fault in them; `read` gives a file as it is. Throws when one is no program any more, or stays the same. */
export function mutate(
  { id, file, edits, beside }: Mutant,
  read: (file: string) => string,
): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const part of beside ? [{ file, edits }, beside] : [{ file, edits }]) {
    const text = read(part.file);
    let mutated = text;
    for (const { start, end, text: instead } of part.edits.toReversed())
      mutated = mutated.slice(0, start) + instead + mutated.slice(end);
    const [error] = parseSync(part.file, mutated).errors;
    if (error) throw new Error(`${id}: not a program: ${error.message}`);
    if (mutated === text) throw new Error(`${id}: changes nothing`);
    changed.set(part.file, mutated);
  }
  return changed;
}

/** Ids made unique, in the order of the text: a second one with the same words is `… #2`. */
export function numbered(mutants: readonly Mutant[]): readonly Mutant[] {
  const seen = new Map<string, number>();
  return mutants.map((mutant) => {
    const count = (seen.get(mutant.id) ?? 0) + 1;
    seen.set(mutant.id, count);
    return count === 1 ? mutant : { ...mutant, id: `${mutant.id} #${count}` };
  });
}
