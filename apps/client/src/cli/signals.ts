/** A terminal's Ctrl-C reaches a program also through those that started it, within moments: that is one press. */
const SAME_PRESS_MS = 300;

/** Calls `handler` for each press of Ctrl-C and each request to terminate; gives a function that stops it. */
export function onInterrupt(handler: () => void): () => void {
  const last = new Map<NodeJS.Signals, number>();
  const heard = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (now - (last.get(signal) ?? Number.NEGATIVE_INFINITY) < SAME_PRESS_MS) return;
    last.set(signal, now);
    handler();
  };
  process.on("SIGINT", heard);
  process.on("SIGTERM", heard);
  return () => {
    process.off("SIGINT", heard);
    process.off("SIGTERM", heard);
  };
}
