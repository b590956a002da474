import type { Clock } from "@chartroom/domain";

interface Waiting {
  readonly at: number;
  readonly fn: () => void;
}

/** A clock that moves only when it is told to, and then runs what is due in order. */
export class HandClock implements Clock {
  #now = 1_000_000;
  #next = 1;
  readonly #waiting = new Map<number, Waiting>();
  /** How often it was looked at. */
  reads = 0;

  now(): number {
    this.reads++;
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number): number {
    const id = this.#next++;
    this.#waiting.set(id, { at: this.#now + ms, fn });
    return id;
  }

  clearTimeout(timer: object | number): void {
    this.#waiting.delete(timer as number);
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#waiting.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#waiting].filter(([, { at }]) => at <= end).toSorted(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      const [id, { at, fn }] = due;
      this.#waiting.delete(id);
      this.#now = at;
      fn();
    }
    this.#now = end;
  }
}
