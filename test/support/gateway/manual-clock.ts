import type { Clock, Entropy } from "@chartroom/domain";

/** A clock that stands still until it is told; its timers run when their time comes, in order. */
export class ManualClock implements Clock {
  #now: number;
  #next = 1;
  readonly #timers = new Map<number, { readonly at: number; readonly fn: () => void }>();

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): number {
    const id = this.#next++;
    this.#timers.set(id, { at: this.#now + ms, fn });
    return id;
  }

  clearTimeout(timer: object | number): void {
    this.#timers.delete(timer as number);
  }

  /** Timers that still wait. */
  get pending(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers]
        .filter(([, { at }]) => at <= end)
        .toSorted((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (due === undefined) break;
      const [id, { at, fn }] = due;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, at);
      fn();
    }
    this.#now = end;
  }
}

/** Entropy without surprises: counted ids, and always the same number. */
export function countedEntropy(random = 0.5): Entropy {
  let count = 0;
  return {
    uuid: () => `00000000-0000-7000-8000-${String(++count).padStart(12, "0")}`,
    random: () => random,
  };
}
