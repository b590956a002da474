/** What a message is to the order of its stream: the one that can open it, a heartbeat, or any other. */
export type AppendKind = "run" | "prewarm" | "heartbeat" | "other";

export interface SequencedAppend<T> {
  readonly seqno: number;
  readonly kind: AppendKind;
  /** Size in bytes, for the limit on what is held back. */
  readonly size: number;
  readonly item: T;
}

/**
 * What to do with an append.
 * - `accepted`: apply `items` in this order: the append itself (unless it is a heartbeat) and what it released.
 * - `held`: wait; a later verdict's `items` or `expire` brings it back.
 * - `duplicate`: its number was received before. `held`: the first one is still waiting; answer both together.
 * - `late`: after the end, or before the start; answer 200 with an empty body, apply nothing. `also`: what was held
 *   behind it, late as well.
 * - `opening`: a Run request or prewarm at 0 or 1 whose number is used up. The caller knows the opening message of
 *   this generation: the same event again is a duplicate, another one begins the next generation (`succeed`).
 * - `refused`: more is held back than a well-behaved client ever leaves open.
 */
export type AppendVerdict<T> =
  | { readonly kind: "accepted"; readonly items: readonly T[] }
  | { readonly kind: "held" }
  | { readonly kind: "duplicate"; readonly held: boolean }
  | { readonly kind: "late"; readonly also?: readonly T[] }
  | { readonly kind: "opening" }
  | { readonly kind: "refused" };

/** An append whose predecessor did not come in time; `late` when the generation had ended, else the call fails. */
export interface ExpiredAppend<T> {
  readonly item: T;
  readonly late: boolean;
}

export interface SequencerLimits {
  /** How long a message waits for those before it. */
  readonly holdMs: number;
  /** Messages and bytes held at once, and how far ahead a number may run. */
  readonly maxHeld: number;
  readonly maxHeldBytes: number;
  readonly maxAhead: number;
}

export const SEQUENCER_LIMITS: SequencerLimits = {
  holdMs: 60_000,
  maxHeld: 256,
  maxHeldBytes: 128 * 1024 * 1024,
  maxAhead: 4096,
};

interface Held<T> extends SequencedAppend<T> {
  readonly deadline: number;
}

/**
 * The order of the appends of one generation (wire section 3; lifecycle specification, section 2). It decides and
 * remembers; it has no clock and no timers: times are arguments in milliseconds, and the shell calls `expire` at
 * `nextDeadline`.
 *
 * Where a sequence starts: at the number of its first message, 0 or 1. Messages may overtake each other, so the
 * first to arrive is not always the first. It is known to be the first when it is number 0 (nothing is lower), or when
 * it is number 1 and a Run request or prewarm (only these open a stream). Anything else waits for its opener, at most
 * `holdMs`. A prewarm at 0 that was overtaken by its Run request at 1 is `late`, which loses nothing: a prewarm only
 * prepares.
 *
 * A heartbeat is answered at once wherever its number stands, and its number counts as received.
 *
 * After the end (`close`), a message that continues the old sequence is late. One with another number can be a repeat, can
 * have overtaken one of its own sequence, or the opener of the next generation: it is held until the old sequence has come
 * so far, for `succeed`, and late when neither comes.
 */
export class AppendSequencer<T> {
  readonly #limits: SequencerLimits;
  readonly #held = new Map<number, Held<T>>();
  #heldBytes = 0;
  /** Numbers of heartbeats that are ahead of `#next`. */
  readonly #beats = new Set<number>();
  /** After the end: numbers of the old sequence that came ahead of their turn and are done with. */
  readonly #trailing = new Set<number>();
  #start: number | undefined;
  #next = 0;
  #closed = false;

  constructor(limits: SequencerLimits = SEQUENCER_LIMITS) {
    this.#limits = limits;
  }

  /** Number of the first message, once it is known. */
  get start(): number | undefined {
    return this.#start;
  }

  /** The number that is applied next; 0 until the start is known. */
  get next(): number {
    return this.#next;
  }

  /** When `expire` has something to do; `undefined` while nothing is held. */
  get nextDeadline(): number | undefined {
    let first: number | undefined;
    for (const held of this.#held.values()) first = Math.min(first ?? held.deadline, held.deadline);
    return first;
  }

  offer(append: SequencedAppend<T>, nowMs: number): AppendVerdict<T> {
    return this.#closed ? this.#offerAfterEnd(append, nowMs) : this.#offerAlive(append, nowMs);
  }

  /** Takes out what has waited too long by `nowMs`. Its number may come again. */
  expire(nowMs: number): readonly ExpiredAppend<T>[] {
    const expired = [...this.#held.values()].filter((held) => held.deadline <= nowMs);
    for (const held of expired) this.#drop(held);
    return expired.toSorted((a, b) => a.seqno - b.seqno).map((held) => ({ item: held.item, late: this.#closed }));
  }

  /** The generation's Run has ended. What is still held had a gap before it: it is given back, to be answered as late. */
  close(): readonly T[] {
    this.#closed = true;
    const left = [...this.#held.values()].toSorted((a, b) => a.seqno - b.seqno);
    for (const held of left) {
      this.#drop(held);
      this.#trailing.add(held.seqno);
    }
    for (const beat of this.#beats) this.#trailing.add(beat);
    this.#beats.clear();
    this.#passTrailing();
    return left.map((held) => held.item);
  }

  /**
   * The sequence of the next generation of the same request id. What came after the end was held for it and goes along;
   * if this one has not ended yet, `late` is what it still held.
   */
  succeed(): { readonly successor: AppendSequencer<T>; readonly late: readonly T[] } {
    const late = this.#closed ? [] : this.close();
    const successor = new AppendSequencer<T>(this.#limits);
    for (const held of this.#held.values()) successor.#hold(held);
    for (const beat of this.#beats) successor.#beats.add(beat);
    this.#held.clear();
    this.#heldBytes = 0;
    return { successor, late };
  }

  #offerAlive(append: SequencedAppend<T>, nowMs: number): AppendVerdict<T> {
    const { seqno, kind } = append;
    const opener = isOpener(append);
    if (this.#held.has(seqno)) return opener ? { kind: "opening" } : { kind: "duplicate", held: true };
    if (this.#start === undefined && (seqno === 0 || opener)) {
      this.#start = seqno;
      this.#next = seqno;
    }
    if (this.#start !== undefined && seqno < this.#next) {
      if (seqno < this.#start && kind !== "run") return { kind: "late" };
      return opener ? { kind: "opening" } : { kind: "duplicate", held: false };
    }
    if (kind === "heartbeat") {
      // one that runs too far ahead is still answered, it only does not fill its gap
      if (seqno - this.#next <= this.#limits.maxAhead) this.#beats.add(seqno);
      return { kind: "accepted", items: this.#drain() };
    }
    if (this.#start === undefined || seqno > this.#next) return this.#tryHold(append, nowMs);
    this.#beats.delete(seqno);
    this.#next += 1;
    return { kind: "accepted", items: [append.item, ...this.#drain()] };
  }

  #offerAfterEnd(append: SequencedAppend<T>, nowMs: number): AppendVerdict<T> {
    const { seqno, kind } = append;
    if (isOpener(append)) return { kind: "opening" };
    if (kind === "heartbeat") {
      if (seqno < this.#next) this.#beats.add(seqno);
      else if (seqno - this.#next <= this.#limits.maxAhead) this.#trailing.add(seqno);
      return { kind: "accepted", items: this.#passTrailing() };
    }
    if (this.#held.has(seqno)) return { kind: "duplicate", held: true };
    if (this.#trailing.has(seqno)) return { kind: "late" };
    if (seqno !== this.#next) return this.#tryHold(append, nowMs);
    this.#next += 1;
    const also = this.#passTrailing();
    return also.length === 0 ? { kind: "late" } : { kind: "late", also };
  }

  /** After the end: moves past what has come, and gives what was held for that. */
  #passTrailing(): readonly T[] {
    const items: T[] = [];
    for (;;) {
      const held = this.#held.get(this.#next);
      const done = this.#trailing.delete(this.#next);
      if (held === undefined && !done) return items;
      if (held !== undefined) {
        this.#drop(held);
        items.push(held.item);
      }
      this.#next += 1;
    }
  }

  /** Moves past every number that is received, and gives what was held under them. */
  #drain(): readonly T[] {
    const items: T[] = [];
    if (this.#start === undefined) return items;
    for (;;) {
      const held = this.#held.get(this.#next);
      const beat = this.#beats.delete(this.#next);
      if (held === undefined && !beat) return items;
      if (held !== undefined) {
        this.#drop(held);
        items.push(held.item);
      }
      this.#next += 1;
    }
  }

  #tryHold(append: SequencedAppend<T>, nowMs: number): AppendVerdict<T> {
    const full = this.#held.size >= this.#limits.maxHeld || this.#heldBytes + append.size > this.#limits.maxHeldBytes;
    if (full || append.seqno - this.#next > this.#limits.maxAhead) return { kind: "refused" };
    this.#hold({ ...append, deadline: nowMs + this.#limits.holdMs });
    return { kind: "held" };
  }

  #hold(held: Held<T>): void {
    this.#held.set(held.seqno, held);
    this.#heldBytes += held.size;
  }

  #drop(held: Held<T>): void {
    this.#held.delete(held.seqno);
    this.#heldBytes -= held.size;
  }
}

function isOpener(append: SequencedAppend<unknown>): boolean {
  return (append.kind === "run" || append.kind === "prewarm") && append.seqno <= 1;
}
