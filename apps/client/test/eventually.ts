import { expect } from "vitest";

/** Looks again and again until what `look` gives is as expected, for as long as a busy machine may need. */
export function eventually<T>(look: () => T) {
  return expect.poll(look, { timeout: 20_000, interval: 10 });
}
