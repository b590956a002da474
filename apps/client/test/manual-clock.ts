import type { Clock, Timer } from "@chartroom/domain";

/** Time that passes when a test says so. */
export class ManualClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly fn: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): Timer {
    const timer = { at: this.#now + ms, fn };
    this.#timers.push(timer);
    return timer;
  }

  clearTimeout(timer: Timer): void {
    this.#timers = this.#timers.filter((one) => one !== timer);
  }

  /** Lets time pass; timers that come due run in their order, also those that are set meanwhile. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.clearTimeout(next);
      this.#now = next.at;
      next.fn();
    }
    this.#now = end;
  }
}
