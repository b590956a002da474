import type { Mutant } from "./mutant.ts";

export interface Verdict {
  readonly id: string;
  readonly killed: boolean;
}

/** Prints the survivors, what is wrong with the explanations, and the counts; gives the exit code. `all`: every mutant was tried. */
export function judge(
  made: readonly Mutant[],
  verdicts: readonly Verdict[],
  explained: Readonly<Record<string, string>>,
  all: boolean,
): 0 | 1 {
  const survived = verdicts.filter(({ killed }) => !killed).map(({ id }) => id);
  const understood = survived.filter((id) => Object.hasOwn(explained, id));
  const faults = [
    ...survived.filter((id) => !Object.hasOwn(explained, id)).map((id) => `survived, and nothing explains it: ${id}`),
    ...verdicts
      .filter(({ id, killed }) => killed && Object.hasOwn(explained, id))
      .map(({ id }) => `explained as a survivor, but killed: ${id}`),
    ...(all ? Object.keys(explained) : [])
      .filter((id) => !made.some((mutant) => mutant.id === id))
      .map((id) => `explained, but no such mutant is made: ${id}`),
  ];
  console.log("");
  for (const id of understood) console.log(`survives: ${id}\n    ${explained[id]}`);
  for (const fault of faults) console.log(fault);
  const killed = verdicts.length - survived.length;
  console.log(`${killed} killed, ${survived.length} survived (${understood.length} explained)`);
  return faults.length === 0 && verdicts.length > 0 ? 0 : 1;
}
