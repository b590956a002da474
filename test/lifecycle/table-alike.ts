import type { Outcome } from "./table.ts";
import { CHECKS, type Trial } from "./table-outcomes.ts";

/** Outcomes that are judged by what the test does next: they come last, and what they ask first is no outcome's but theirs. */
const ACTING: readonly Outcome[] = ["joinsNextOpening"];
/** By it anything goes that keeps the invariants. The entries that say so are listed by the test. */
const LOOSE: Outcome = "unspecified";

/** The other outcomes whose demands are met too: an entry that is altered to one of them is not noticed in this state. */
export async function alsoTakenFor(trial: Trial, outcome: Outcome): Promise<readonly Outcome[]> {
  const names = Object.keys(CHECKS) as (keyof typeof CHECKS)[];
  const others = names.filter((name) => name !== outcome && name !== LOOSE);
  const met: Outcome[] = [];
  for (const other of [
    ...others.filter((name) => !ACTING.includes(name)),
    ...others.filter((name) => ACTING.includes(name)),
  ])
    if (await isMet(() => CHECKS[other](trial))) met.push(other);
  return met;
}

async function isMet(check: () => void | Promise<void>): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    // what an outcome asks for may not be there at all
    if (error instanceof Error) return false;
    throw error;
  }
}

const SUBAGENT = "there is no such subagent, and the log says so beside the acknowledgement";
const ONCE =
  "of two equal completions the first does that, and the second nothing: so it is for one that is given twice and counts once";

/** Entries that could as well be called by another name, and why nothing tells the two apart. */
export const ALIKE: Readonly<Record<string, { readonly as: Outcome; readonly why: string }>> = {
  "cancelSubagent · B · idle": { as: "logged", why: SUBAGENT },
  "cancelSubagent · B · active": { as: "logged", why: SUBAGENT },
  "cancelSubagent · B · ending": { as: "logged", why: SUBAGENT },
  "completion, again · A · active": { as: "nextBorderAndFinishedTurn", why: ONCE },
  "completion, again · A · ending": { as: "opensNextRunAndFinishedTurn", why: ONCE },
  "completion, again · B · active": { as: "nextBorder", why: ONCE },
  "completion, again · B · ending": { as: "opensNextRun", why: ONCE },
};
