/** A promise with its ends outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  readonly settled: boolean;
}

export function deferred<T>(): Deferred<T> {
  let settle!: (value: T) => void;
  let settled = false;
  const promise = new Promise<T>((resolve) => (settle = resolve));
  return {
    promise,
    get settled() {
      return settled;
    },
    resolve(value) {
      settled = true;
      settle(value);
    },
  };
}
