/** A terminal's Ctrl-C reaches a program also through those that started it, within moments: that is one press. */
const SAME_PRESS_MS = 300;

/** Calls `handler` for each press of Ctrl-C and each request to terminate; gives a function that stops it. */
export function onInterrupt(handler: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  const heard = () => {
    const now = performance.now();
    if (now - last < SAME_PRESS_MS) return;
    last = now;
    handler();
  };
  process.on("SIGINT", heard);
  process.on("SIGTERM", heard);
  return () => {
    process.off("SIGINT", heard);
    process.off("SIGTERM", heard);
  };
}
