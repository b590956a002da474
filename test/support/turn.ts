/** One turn of the event loop: all that could happen without waiting for I/O or time has happened. */
export const turn = (): Promise<void> => new Promise((resume) => setImmediate(resume));

/** Resolves once `test` holds; looked at once per turn of the event loop, and given up after `ms`. */
export async function eventually(what: string, test: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const until = performance.now() + ms;
  while (!(await test())) {
    if (performance.now() > until) throw new Error(`did not happen within ${ms} ms: ${what}`);
    await turn();
  }
}
