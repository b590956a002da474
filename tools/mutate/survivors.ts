/**
 * Mutants that no test can tell from the program, and why: what they alter makes no difference. By id; the run fails when one
 * of them is killed or is no longer made, and when a mutant survives that is not here.
 */
export const EXPLAINED: Readonly<Record<string, string>> = {};
