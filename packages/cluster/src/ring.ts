import type { OutputEntry } from "@chartroom/domain";

export interface RingLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** The newest entries of one conversation, by offset; the oldest leave when a limit is passed. */
export class Ring {
  #entries: (OutputEntry | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #first = 0;
  readonly #limits: RingLimits;

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  /** Offset of the oldest entry that is still held; equals `next` when empty. */
  get first(): number {
    return this.#first;
  }
  /** Offset of the next entry. */
  get next(): number {
    return this.#first + this.#entries.length - this.#head;
  }

  push(entry: OutputEntry): void {
    this.#entries.push(entry);
    this.#bytes += entry.bytes.length;
    while (
      this.#entries.length - this.#head > this.#limits.entries ||
      (this.#bytes > this.#limits.bytes && this.#entries.length - this.#head > 1)
    )
      this.#shift();
  }

  at(offset: number): OutputEntry | undefined {
    return offset < this.#first ? undefined : this.#entries[this.#head + offset - this.#first];
  }

  /** Forgets the entries before `offset`. */
  dropBefore(offset: number): void {
    while (this.#first < offset && this.#head < this.#entries.length) this.#shift();
  }

  #shift(): void {
    const entry = this.#entries[this.#head];
    this.#entries[this.#head] = undefined;
    this.#head++;
    this.#first++;
    this.#bytes -= entry?.bytes.length ?? 0;
    // moving the array at every shift would make a full ring quadratic
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }
}
