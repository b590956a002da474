import { performance } from "node:perf_hooks";
import { exitCodes } from "./failure.ts";

/**
 * Ctrl-C in a terminal goes to every process of the group, and those that started this one pass theirs on: what comes within
 * this time is the same wish.
 */
const SAME_WISH_MS = 1_000;

/** Listens for the signals that ask the process to stop, from its beginning on. A second wish ends it at once. */
export class StopSignals {
  #first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  #stop: ((signal: NodeJS.Signals) => void) | undefined;

  constructor() {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => this.#heard(signal));
  }

  /** Whether a stop was asked for. */
  get asked(): boolean {
    return this.#first !== undefined;
  }

  /** Called once; at once if it was asked for before. */
  onStop(stop: (signal: NodeJS.Signals) => void): void {
    this.#stop = stop;
    if (this.#first) stop(this.#first.signal);
  }

  #heard(signal: NodeJS.Signals): void {
    const at = performance.now();
    if (this.#first === undefined) {
      this.#first = { signal, at };
      this.#stop?.(signal);
    } else if (at - this.#first.at > SAME_WISH_MS) {
      process.exit(exitCodes.interrupted);
    }
  }
}
