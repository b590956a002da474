import type { Clock, Entropy } from "@chartroom/domain";
import { uuidv7 } from "uuidv7";

/** The machine's clock. Its timers never keep the process alive; whoever waits on one in a program of its own must. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms).unref(),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** UUIDs: request, message and conversation ids of the client are such (wire section 4.5). */
export const systemEntropy: Entropy = {
  uuid: () => uuidv7(),
  random: () => Math.random(),
};
