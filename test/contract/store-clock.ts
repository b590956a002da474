import type { Clock } from "@chartroom/domain";

/** A clock that stands still until the test moves it. */
export interface ManualClock extends Clock {
  /** Moves on, and lets what falls due happen at its own moment, in order. */
  advance(ms: number): void;
  /** Moves on as for a process that was frozen: nothing that fell due has happened yet. */
  freeze(ms: number): void;
  /** Shows an earlier time from now on; what is due is due after as long as before. */
  setBack(ms: number): void;
  /** Timers that are set. */
  readonly pending: number;
}

export function manualClock(start = 1_000_000): ManualClock {
  let now = start;
  const timers = new Map<object, { readonly at: number; readonly fn: () => void }>();
  return {
    now: () => now,
    setTimeout(fn, ms) {
      const timer = {};
      timers.set(timer, { at: now + ms, fn });
      return timer;
    },
    clearTimeout: (timer) => void timers.delete(timer as object),
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [next] = [...timers].filter(([, { at }]) => at <= end).toSorted(([, a], [, b]) => a.at - b.at);
        if (next === undefined) break;
        const [timer, { at, fn }] = next;
        timers.delete(timer);
        now = Math.max(now, at);
        fn();
      }
      now = end;
    },
    freeze: (ms) => void (now += ms),
    setBack(ms) {
      now -= ms;
      for (const [timer, { at, fn }] of timers) timers.set(timer, { at: at - ms, fn });
    },
    get pending() {
      return timers.size;
    },
  };
}
