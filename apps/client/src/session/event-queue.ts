/** Values pushed on one side, awaited on the other; for one reader. */
export class EventQueue<T> implements AsyncIterable<T> {
  #values: T[] = [];
  #closed = false;
  #wake: (() => void) | undefined;

  push(value: T): void {
    if (this.#closed) return;
    this.#values.push(value);
    this.#wake?.();
  }

  /** No further values; the reader gets those that are there. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const batch = this.#values;
      this.#values = [];
      yield* batch;
      if (this.#values.length > 0) continue;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}
