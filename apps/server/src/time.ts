import { uuidv7 } from "uuidv7";
import type { Clock, Entropy, Timer } from "@chartroom/domain";

/** The machine's clock. Its timers never keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms).unref() satisfies Timer,
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

export const systemEntropy: Entropy = {
  uuid: () => uuidv7(),
  random: () => Math.random(),
};
