/** Something that collects during a tick and writes once at its end. */
export interface Flushable {
  flush(): void;
}

let dirty: Flushable[] = [];

function flushAll(): void {
  const now = dirty;
  dirty = [];
  for (const one of now) one.flush();
}

/**
 * Flushes at the end of this turn of the event loop, after all its reads, so that what one read brought becomes one
 * write. One immediate serves all streams. The caller asks once per batch.
 */
export function flushLater(one: Flushable): void {
  if (dirty.length === 0) setImmediate(flushAll);
  dirty.push(one);
}
