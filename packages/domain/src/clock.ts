/** Time as a port: epoch milliseconds and timers that a test can drive. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls once after `ms` (0 … 2^31-1). The timer never keeps the process alive on its own. */
  setTimeout(fn: () => void, ms: number): Timer;
  clearTimeout(timer: Timer): void;
}

export type Timer = object | number;

/** Randomness as a port. */
export interface Entropy {
  /** A new UUIDv7. */
  uuid(): string;
  /** Uniform in [0, 1). */
  random(): number;
}
