/** Tasks of one conversation, one after the other; a task that fails does not stop the next. */
export class SerialQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get idle(): boolean {
    return this.#waiting === 0;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    this.#waiting++;
    const result = this.#tail.then(task).finally(() => this.#waiting--);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** When all that is queued now is done. */
  settled(): Promise<void> {
    return this.#tail.then(() => undefined);
  }
}
