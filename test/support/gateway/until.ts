/** Waits until a condition holds, looking again each time the event loop comes round; fails after `limitMs`. */
export async function until(condition: () => boolean, what = "the condition", limitMs = 5000): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} did not come true within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Lets everything that is already under way run: a few turns of the event loop. */
export async function settle(turns = 10): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
