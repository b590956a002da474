import type { ProviderFailure } from "@chartroom/domain";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { retryDecision, type RetryPolicy } from "./retry.ts";

const policy: RetryPolicy = { maxAttempts: 4, baseMs: 500, maxMs: 3000, maxRetryAfterMs: 60_000 };
const failure = (rest: Partial<ProviderFailure> = {}): ProviderFailure => ({
  kind: "overloaded",
  message: "busy",
  retryable: true,
  ...rest,
});

const waits = (random: number) =>
  [1, 2, 3].map((attempt) => retryDecision(failure(), attempt, false, policy, () => random));
const after = (retryAfterMs: number) =>
  retryDecision(failure({ kind: "rateLimit", retryAfterMs }), 1, false, policy, () => 0.9);

describe("retryDecision", () => {
  it("doubles from the base to the limit, half of it by chance", () => {
    expect(waits(0)).toEqual([250, 500, 1000].map((afterMs) => ({ retry: true, afterMs })));
    expect(waits(0.5)).toEqual([375, 750, 1500].map((afterMs) => ({ retry: true, afterMs })));
  });

  it("PR-07: waits as long as the vendor says, and not at all when that is too long", () => {
    expect(after(700)).toEqual({ retry: true, afterMs: 700 });
    expect(after(0)).toEqual({ retry: true, afterMs: 0 });
    expect(after(60_000)).toEqual({ retry: true, afterMs: 60_000 });
    expect(after(60_001)).toEqual({ retry: false });
  });

  it.each([
    ["something was shown", failure(), 1, true],
    ["the failure is final", failure({ kind: "auth", retryable: false }), 1, false],
    ["it was aborted", failure({ kind: "aborted" }), 1, false],
    ["the attempts are used up", failure(), 4, false],
    ["something was shown, though the vendor names a time", failure({ retryAfterMs: 10 }), 1, true],
  ])("does not retry when %s", (_, one, attempt, shown) => {
    expect(retryDecision(one, attempt, shown, policy, () => 0)).toEqual({ retry: false });
  });

  it("never waits less than half the base, nor longer than the limit", () => {
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), chance, (attempt, random) => {
        const decision = retryDecision(failure(), attempt, false, { ...policy, maxAttempts: 2000 }, () => random);
        expect(decision.retry && decision.afterMs >= 250 && decision.afterMs <= policy.maxMs).toBe(true);
      }),
    );
  });
});
