import type { LifecycleEvent, StateValue } from "@chartroom/domain";

/** Rows of an activation that are not yet in the store; they are written with the next barrier. */
export class Journal {
  readonly #fence: number;
  readonly #rows: LifecycleEvent[] = [];
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
    this.#rows.push({
      seq: this.#seq++,
      fence: this.#fence,
      runId: row.runId,
      event: { ...row.event },
      from: row.from,
      to: row.to,
      at: row.at,
    });
  }

  get pending(): readonly LifecycleEvent[] {
    return this.#rows.slice();
  }

  written(count: number): void {
    this.#rows.splice(0, count);
  }
}
