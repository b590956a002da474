/** A promise with its ends outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  readonly settled: boolean;
}

export function deferred<T>(): Deferred<T> {
  return new OpenPromise<T>();
}

/** A class, since every conversation in memory holds some: an object with a getter of its own is many times as large. */
class OpenPromise<T> implements Deferred<T> {
  readonly promise: Promise<T>;
  /** Gone once it has settled. */
  #settle: ((value: T) => void) | undefined;

  constructor() {
    this.promise = new Promise<T>((resolve) => (this.#settle = resolve));
  }

  get settled(): boolean {
    return this.#settle === undefined;
  }

  resolve(value: T): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(value);
  }
}
