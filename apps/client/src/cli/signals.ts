/** A terminal's Ctrl-C reaches a program also through those that started it, within moments: that is one press. */
const SAME_PRESS_MS = 300;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls `handler` for each press of Ctrl-C and each request to terminate; gives a function that stops it. */
export function onInterrupt(handler: () => void): () => void {
  const last = new Map<NodeJS.Signals, number>();
  const heard = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (now - (last.get(signal) ?? Number.NEGATIVE_INFINITY) < SAME_PRESS_MS) return;
    last.set(signal, now);
    handler();
  };
  for (const signal of SIGNALS) process.on(signal, heard);
  return () => {
    for (const signal of SIGNALS) process.off(signal, heard);
  };
}
