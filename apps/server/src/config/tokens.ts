import type { ConfigProblem } from "./problem.ts";
import type { TokenEntry } from "./schema.ts";
import type { Placed } from "./sections.ts";

/** A member's bearer token, read from where it is kept. */
export interface ConfiguredToken {
  readonly member: string;
  readonly team: string;
  readonly roles: readonly ("member" | "admin")[];
  readonly token: string;
}

const SHORTEST = 16;

/** Reads the tokens; a short one, and one that two members share, is a problem. */
export function tokensOf(
  entries: readonly Placed<TokenEntry>[],
  secret: (at: string, reference: string) => string | undefined,
  problems: ConfigProblem[],
): readonly ConfiguredToken[] {
  const seen = new Set<string>();
  return entries.flatMap(({ at, entry }): readonly ConfiguredToken[] => {
    const path = `tokens[${at}].token`;
    const token = secret(path, entry.token);
    if (token === undefined) return [];
    if (token.length < SHORTEST) problems.push({ path, reason: `shorter than ${SHORTEST} characters` });
    // what a request can carry behind `Bearer `
    else if (!/^[\x21-\x7e]+$/u.test(token)) problems.push({ path, reason: "blanks or characters that are not ASCII" });
    if (seen.has(token)) problems.push({ path, reason: "the same token as another entry's" });
    seen.add(token);
    return [{ ...entry, token }];
  });
}
