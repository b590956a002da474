import type { MemberId, TeamId } from "./ids.ts";

export type Role = "member" | "admin";

/** Who a command comes from. With no tokens configured there is one local member. */
export interface Principal {
  readonly member: MemberId;
  readonly team: TeamId;
  readonly roles: readonly Role[];
}
