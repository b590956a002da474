import type { Clock } from "@chartroom/domain";
import { turn } from "../../support/turn.ts";

interface Timer {
  readonly at: number;
  readonly fn: () => void;
  readonly owner: NodeClock;
}

/** Time that passes when the test says so; what a timer leads to happens before the next one is looked at. */
export class SimTime {
  now = 1_800_000_000_000;
  readonly #timers = new Set<Timer>();
  readonly #settled: () => Promise<void>;

  /** `settled`: when all that could happen without time has happened. */
  constructor(settled: () => Promise<void> = turn) {
    this.#settled = settled;
  }

  /** The clock of one process. */
  node(): NodeClock {
    return new NodeClock(this, this.#timers);
  }

  async advance(ms: number): Promise<void> {
    const end = this.now + ms;
    for (;;) {
      await this.#settled();
      const next = this.#earliest(end);
      if (!next) break;
      this.#timers.delete(next);
      this.now = Math.max(this.now, next.at);
      next.fn();
    }
    this.now = end;
  }

  #earliest(end: number): Timer | undefined {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= end && (!earliest || timer.at < earliest.at)) earliest = timer;
    return earliest;
  }
}

export class NodeClock implements Clock {
  readonly #time: SimTime;
  readonly #timers: Set<Timer>;
  #dead = false;

  constructor(time: SimTime, timers: Set<Timer>) {
    this.#time = time;
    this.#timers = timers;
  }

  now(): number {
    return this.#time.now;
  }
  setTimeout(fn: () => void, ms: number): Timer {
    const timer = { at: this.#time.now + Math.max(0, ms), fn, owner: this };
    if (!this.#dead) this.#timers.add(timer);
    return timer;
  }
  clearTimeout(timer: object | number): void {
    this.#timers.delete(timer as Timer);
  }
  /** The process is gone, and its timers with it. */
  kill(): void {
    this.#dead = true;
    for (const timer of this.#timers) if (timer.owner === this) this.#timers.delete(timer);
  }
}
