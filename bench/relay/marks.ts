/**
 * Each chunk of the fake provider begins with a mark: `@@` and twelve digits, the microseconds at which it was sent. A
 * receiver looks for marks in raw bytes, so whatever stands between does not matter.
 */
export const MARK_BYTES = 14;
const CLOCK = 1e12;
const AT = 64;

export function mark(us: number): string {
  return `@@${String(us % CLOCK).padStart(12, "0")}`;
}

/** Finds marks in a stream of buffers, also those that are cut in two. */
export class MarkReader {
  #rest: Buffer | undefined;

  /** Calls `found` for each mark with the microseconds since it was sent. */
  push(data: Buffer, nowUs: number, found: (latencyUs: number) => void): void {
    const all = this.#rest ? Buffer.concat([this.#rest, data]) : data;
    let at = 0;
    let end = 0;
    while ((at = all.indexOf("@@", at)) >= 0 && at + MARK_BYTES <= all.length) {
      let sent = 0;
      for (let digit = at + 2; digit < at + MARK_BYTES; digit++) sent = sent * 10 + all[digit]! - 48;
      found((nowUs % CLOCK) - sent);
      at += MARK_BYTES;
      end = at;
    }
    const from = at >= 0 ? at : all.length > end && all.at(-1) === AT ? all.length - 1 : all.length;
    this.#rest = from < all.length ? Buffer.from(all.subarray(from)) : undefined;
  }
}
