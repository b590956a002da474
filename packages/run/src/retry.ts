import type { ProviderFailure } from "@chartroom/domain";

export interface RetryPolicy {
  /** Attempts of a Step in all, the first one included. */
  readonly maxAttempts: number;
  readonly baseMs: number;
  readonly maxMs: number;
  /** A vendor that asks for a longer wait than this is not waited for: the user hears of it at once. */
  readonly maxRetryAfterMs: number;
}

export type RetryDecision = { readonly retry: false } | { readonly retry: true; readonly afterMs: number };

/**
 * Whether a failed Step is tried again, and after how many milliseconds. `attempt` counts the attempts that have failed, this
 * one included; `random` is uniform in [0, 1). A wait that the vendor names is kept to the millisecond; otherwise it doubles
 * from `baseMs` to `maxMs`, half of it drawn at random so that many Runs do not come back at the same moment.
 */
export function retryDecision(
  failure: ProviderFailure,
  attempt: number,
  shown: boolean,
  policy: RetryPolicy,
  random: () => number,
): RetryDecision {
  // what the user has seen cannot be taken back
  if (shown || !failure.retryable || failure.kind === "aborted" || attempt >= policy.maxAttempts)
    return { retry: false };
  if (failure.retryAfterMs !== undefined) {
    if (failure.retryAfterMs > policy.maxRetryAfterMs) return { retry: false };
    return { retry: true, afterMs: Math.max(0, Math.ceil(failure.retryAfterMs)) };
  }
  const full = Math.min(policy.maxMs, policy.baseMs * 2 ** Math.max(0, attempt - 1));
  return { retry: true, afterMs: Math.round(full / 2 + (full / 2) * random()) };
}
