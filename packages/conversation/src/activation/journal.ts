import type { LifecycleEvent, StateValue } from "@chartroom/domain";

/** Rows of an activation that are not yet in the store; they are written with the next barrier. */
export class Journal {
  readonly #fence: number;
  // grown by copies, since most activations rest with a few rows: an array that is pushed to has room for seventeen
  #rows: readonly LifecycleEvent[] = [];
  #seq: number;

  /** `seq` of the first row; rows of one fence are numbered from 1. */
  constructor(fence: number) {
    this.#fence = fence;
    this.#seq = 1;
  }

  note(row: {
    readonly runId: string | null;
    readonly event: { readonly type: string };
    readonly from: StateValue;
    readonly to: StateValue;
    readonly at: number;
  }): void {
    const { runId, event, from, to, at } = row;
    const noted = { seq: this.#seq++, fence: this.#fence, runId, event: { ...event }, from, to, at };
    this.#rows = [...this.#rows, noted];
  }

  get pending(): readonly LifecycleEvent[] {
    return this.#rows;
  }

  written(count: number): void {
    this.#rows = this.#rows.slice(count);
  }
}
