import type { ModelEvent } from "@chartroom/domain";

type Batch = readonly ModelEvent[];

export interface BatchQueueHooks {
  /** The reader asks for the first time. */
  start(): void;
  /** The reader has taken everything and waits for more. */
  hungry(): void;
  /** The reader left before the end. */
  left(): void;
}

/**
 * Between a network that pushes and a reader that pulls. What comes while the reader is busy is joined into its next batch.
 * For one reader.
 */
export class BatchQueue implements AsyncIterableIterator<Batch> {
  readonly #hooks: BatchQueueHooks;
  #pending: ModelEvent[] = [];
  #waiter: ((result: IteratorResult<Batch>) => void) | undefined;
  #started = false;
  #ended = false;

  constructor(hooks: BatchQueueHooks) {
    this.#hooks = hooks;
  }

  /** The last event was put in; nothing more will be. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Something waits for a reader that is busy. */
  get backlog(): boolean {
    return this.#pending.length > 0;
  }

  push(events: ModelEvent[]): void {
    if (events.length === 0 || this.#ended) return;
    const waiter = this.#waiter;
    if (waiter) {
      this.#waiter = undefined;
      waiter({ done: false, value: events });
      return;
    }
    if (this.#pending.length === 0) this.#pending = events;
    else for (const event of events) this.#pending.push(event);
  }

  /** Puts in what is last. Only the first call counts. */
  end(events: ModelEvent[]): void {
    if (this.#ended) return;
    this.push(events);
    this.#ended = true;
    this.#waiter?.({ done: true, value: undefined });
    this.#waiter = undefined;
  }

  next(): Promise<IteratorResult<Batch>> {
    if (!this.#started) {
      this.#started = true;
      this.#hooks.start();
    }
    // it may push at once, so that there is something after all
    if (this.#pending.length === 0 && !this.#ended) this.#hooks.hungry();
    if (this.#pending.length > 0) {
      const value = this.#pending;
      this.#pending = [];
      return Promise.resolve({ done: false, value });
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiter = resolve;
    });
  }

  return(): Promise<IteratorResult<Batch>> {
    this.#started = true;
    const left = !this.#ended;
    this.#pending = [];
    this.#ended = true;
    this.#waiter?.({ done: true, value: undefined });
    this.#waiter = undefined;
    if (left) this.#hooks.left();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
