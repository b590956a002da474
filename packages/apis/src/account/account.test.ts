import type { MemberId, Principal, TeamId } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import { accountOf, billingCycle } from "./account.ts";

const principal = (member: string): Principal => ({
  member: member as MemberId,
  team: "crew" as TeamId,
  roles: ["member"],
});

describe("accountOf", () => {
  it("gives a member local values that stay the same", () => {
    const account = accountOf(principal("ann"));
    expect(account).toMatchObject({ authId: "chartroom|ann", email: "ann@crew.chartroom.invalid", name: "ann" });
    expect(accountOf(principal("ann")).number).toBe(account.number);
    expect(accountOf(principal("bob")).number).not.toBe(account.number);
  });

  it("takes a name that is an address as the address", () => {
    expect(accountOf(principal("ann@crew.example")).email).toBe("ann@crew.example");
  });

  it.each(["", "a", "ann", "z".repeat(128)])("numbers %j within an int32", (member) => {
    const { number } = accountOf(principal(member));
    expect(number).toBeGreaterThan(0);
    expect(number).toBeLessThan(2 ** 31);
  });
});

it.each([
  ["2026-11-30T23:59:59Z", "2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z"],
  ["2026-12-31T00:00:00Z", "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
])("billingCycle of %s is its month", (now, start, end) => {
  const cycle = billingCycle(Date.parse(now));
  expect([new Date(cycle.start).toISOString(), new Date(cycle.end).toISOString()]).toEqual([start, end]);
});
