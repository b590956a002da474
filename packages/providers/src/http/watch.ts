import type { Clock, ModelLimits, Timer } from "@chartroom/domain";

export type Bound = "headers" | "idle" | "total";

/**
 * The time limits of one call: for the response headers, for silence, and in all. A byte renews the idle limit by writing
 * down a time; the one timer looks at it when it fires, so that a fast stream sets no timer per read.
 */
export class Watch {
  readonly #clock: Clock;
  readonly #limits: ModelLimits;
  readonly #expired: (bound: Bound) => void;
  #total: Timer | undefined;
  #current: Timer | undefined;
  #idleMs: number;
  #lastByte = 0;
  #paused = false;
  #stopped = false;

  constructor(clock: Clock, limits: ModelLimits, expired: (bound: Bound) => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#expired = expired;
    this.#idleMs = limits.idleMs;
  }

  start(): void {
    this.#total = this.#clock.setTimeout(() => this.#fire("total"), this.#limits.totalMs);
    this.#current = this.#clock.setTimeout(() => this.#fire("headers"), this.#limits.headersMs);
  }

  /** The response headers have come: from here on silence counts. */
  headers(): void {
    this.#clear();
    this.#lastByte = this.#clock.now();
    this.#arm(this.#idleMs);
  }

  byte(): void {
    this.#lastByte = this.#clock.now();
  }

  /** While the reader holds the stream back, silence is its own doing. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.byte();
  }

  /** From now on less silence is allowed. */
  tighten(idleMs: number): void {
    if (idleMs >= this.#idleMs) return;
    this.#idleMs = idleMs;
    this.#clear();
    this.#arm(idleMs);
  }

  stop(): void {
    this.#stopped = true;
    this.#clear();
    if (this.#total !== undefined) this.#clock.clearTimeout(this.#total);
    this.#total = undefined;
  }

  #arm(ms: number): void {
    if (this.#stopped) return;
    this.#current = this.#clock.setTimeout(() => this.#look(), ms);
  }

  #look(): void {
    const rest = this.#paused ? this.#idleMs : this.#lastByte + this.#idleMs - this.#clock.now();
    if (rest > 0) this.#arm(rest);
    else this.#fire("idle");
  }

  #fire(bound: Bound): void {
    if (this.#stopped) return;
    this.stop();
    this.#expired(bound);
  }

  #clear(): void {
    if (this.#current !== undefined) this.#clock.clearTimeout(this.#current);
    this.#current = undefined;
  }
}
