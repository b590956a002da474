import { createHash } from "node:crypto";
import type { Principal } from "@chartroom/domain";

/** What a client is told of the caller's account: local values, nothing of the vendor's. */
export interface Account {
  readonly authId: string;
  readonly email: string;
  readonly name: string;
  /** A number that stays the same for the same member; the wire wants one. */
  readonly number: number;
}

export const PLAN_NAME = "Chartroom (own model keys)";

/** Members have no e-mail address here unless their name is one. */
export function accountOf({ member, team }: Principal): Account {
  return {
    authId: `chartroom|${member}`,
    email: member.includes("@") ? member : `${member}@${team}.chartroom.invalid`,
    name: member,
    // positive as an int32
    number: createHash("sha256").update(member).digest().readUInt32BE() & 0x7fffffff || 1,
  };
}

/** The calendar month of a moment, in UTC: clients show usage by it. */
export function billingCycle(nowMs: number): { readonly start: number; readonly end: number } {
  const now = new Date(nowMs);
  const month = (ahead: number): number => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1);
  return { start: month(0), end: month(1) };
}
