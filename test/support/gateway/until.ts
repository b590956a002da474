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

/**
 * Moves a clock on, step by step with time for I/O in between, until a promise resolves. For what is under way on an
 * open connection: a new one has only so much of the clock's time to say what it is. Fails after `limitMs` of real time.
 */
export async function advancing<T>(
  clock: { advance(ms: number): void },
  promise: Promise<T>,
  stepMs = 1000,
  limitMs = 10_000,
): Promise<T> {
  let done = false;
  const over = promise.finally(() => (done = true));
  over.catch(() => undefined);
  const end = performance.now() + limitMs;
  for (;;) {
    if (done) return over;
    if (performance.now() > end) throw new Error(`nothing came within ${limitMs} ms`);
    clock.advance(stepMs);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
