import type { Clock, Entropy } from "@chartroom/domain";
import { randomUUID } from "node:crypto";

/** The machine's clock. Its timers never keep the process alive; whoever waits on one in a program of its own must. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms).unref(),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** Random UUIDs: request, message and conversation ids of the client are such (wire section 4.5). */
export const systemEntropy: Entropy = {
  uuid: () => randomUUID(),
  random: () => Math.random(),
};

/** Waits on a clock; ends early, without an error, when `signal` aborts. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = clock.setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done(): void {
      clock.clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}
