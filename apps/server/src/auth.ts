import { createHash } from "node:crypto";
import type { MemberId, Principal, Result, TeamId } from "@chartroom/domain";
import { failure } from "@chartroom/conversation";
import type { ConfiguredToken } from "./config/tokens.ts";

/** The one member of a server without tokens. */
export const localMember: Principal = {
  member: "local" as MemberId,
  team: "local" as TeamId,
  roles: ["member", "admin"],
};

/** Finds the member of a bearer token. Only hashes are kept, and they are what is looked up, so that no comparison tells how much of a token is right. */
export function tokenAuthentication(
  tokens: readonly ConfiguredToken[],
): (bearer: string | undefined) => Result<Principal> {
  if (tokens.length === 0) return () => ({ ok: true, value: localMember });
  const members = new Map(
    tokens.map(({ token, member, team, roles }) => [
      hashOf(token),
      { member: member as MemberId, team: team as TeamId, roles } satisfies Principal,
    ]),
  );
  return (bearer) => {
    const principal = bearer === undefined ? undefined : members.get(hashOf(bearer));
    return principal ? { ok: true, value: principal } : { ok: false, error: failure("UNAUTHENTICATED") };
  };
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");
