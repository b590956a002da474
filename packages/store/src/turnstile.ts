/** Lets one at a time through per key, in the order of arrival. */
export class Turnstile {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` when all earlier work of the key has ended, well or badly. */
  async pass<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
