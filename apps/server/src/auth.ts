import { createHash } from "node:crypto";
import { failure } from "@chartroom/conversation";
import type { MemberId, Principal, Result, TeamId } from "@chartroom/domain";
import { type HeaderSource, parseBearer } from "@chartroom/protocol";
import { isLoopback } from "./config/listen.ts";
import type { ConfiguredToken } from "./config/tokens.ts";

/** The one member of a server without tokens. */
const localMember: Principal = {
  member: "local" as MemberId,
  team: "local" as TeamId,
  roles: ["member", "admin"],
};

/** Finds out who calls: by the bearer token where tokens are configured, else whoever is on this machine. */
export function authentication(
  tokens: readonly ConfiguredToken[],
  publicUrl?: string,
): (header: HeaderSource) => Result<Principal> {
  return tokens.length === 0 ? byLoopback(publicUrl) : byToken(tokens);
}

/**
 * A page in a browser of this machine can reach loopback under a name of its own that resolves there, and would spend the
 * provider keys: it is told by that name.
 */
function byLoopback(publicUrl: string | undefined): (header: HeaderSource) => Result<Principal> {
  const publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).host;
  const refusal = failure("UNAUTHENTICATED", "Without tokens this server answers under its loopback address only.");
  return (header) => {
    const host = header("host") ?? header(":authority");
    return host === undefined || host === publicHost || isLoopback(nameOf(host))
      ? { ok: true, value: localMember }
      : { ok: false, error: refusal };
  };
}

/** Only hashes are kept, and they are what is looked up, so that no comparison tells how much of a token is right. */
function byToken(tokens: readonly ConfiguredToken[]): (header: HeaderSource) => Result<Principal> {
  const members = new Map(
    tokens.map(({ token, member, team, roles }) => [
      hashOf(token),
      { member: member as MemberId, team: team as TeamId, roles } satisfies Principal,
    ]),
  );
  return (header) => {
    const bearer = parseBearer(header("authorization"));
    const principal = bearer === undefined ? undefined : members.get(hashOf(bearer));
    return principal ? { ok: true, value: principal } : { ok: false, error: failure("UNAUTHENTICATED") };
  };
}

/** The name in a `host` header, without its port; empty for one that is none. */
function nameOf(host: string): string {
  return URL.parse(`http://${host}`)?.hostname.replace(/^\[(.*)\]$/u, "$1") ?? "";
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");
