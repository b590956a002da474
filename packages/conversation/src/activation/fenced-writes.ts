import type { Barrier, CheckpointId, CommitResult, Lease, PersistedChart, RunId } from "@chartroom/domain";
import type { ConversationDeps } from "../deps.ts";
import { Journal } from "./journal.ts";
import { SerialQueue } from "../serial-queue.ts";

export type Committed = Extract<CommitResult, { kind: "committed" }>;

/** What the writes need of their activation. */
export interface WritesHost {
  readonly ended: boolean;
  /** Aborted when it ends. */
  readonly abort: AbortController;
  /** The chart that a barrier writes; `undefined`: the stored one stays. */
  chartToWrite(): PersistedChart | undefined;
  send(event: { readonly type: "fence.lost" | "store.unavailable" }): void;
}

const NONE: readonly never[] = [];

function rest<T>(all: readonly T[], written: number): readonly T[] {
  return written === all.length ? NONE : all.slice(written);
}

/** The writes of one activation, one after the other, each with the chart and the journal, all under the fence. */
export class FencedWrites {
  readonly journal: Journal;
  readonly #deps: ConversationDeps;
  readonly #lease: Lease;
  readonly #host: WritesHost;
  readonly #queue = new SerialQueue();
  // grown by copies: most activations rest with nothing in them
  #deliveredHeads: readonly CheckpointId[] = NONE;
  #deliveredRuns: readonly RunId[] = NONE;
  /** The head that the store has. */
  head: CheckpointId | undefined;

  constructor(deps: ConversationDeps, lease: Lease, head: CheckpointId | undefined, host: WritesHost) {
    this.head = head;
    this.#deps = deps;
    this.#lease = lease;
    this.#host = host;
    this.journal = new Journal(lease.fence);
  }

  /** A Run's terminal went out to an attached transport; written with the next barrier. */
  runDelivered(runId: RunId): void {
    this.#deliveredRuns = [...this.#deliveredRuns, runId];
  }

  /** Written with the next barrier. */
  delivered(head: CheckpointId): void {
    this.#deliveredHeads = [...this.#deliveredHeads, head];
  }

  settled(): Promise<void> {
    return this.#queue.settled();
  }

  /** Retries in place while the database is away, within the bound; then the host is told. */
  commit(make: () => Barrier): Promise<Committed | undefined> {
    return this.#queue.run(async () => {
      if (this.#host.ended) return undefined;
      const { clock, settings } = this.#deps;
      const since = clock.now();
      const barrier = make();
      for (let pause = 50; ; pause = Math.min(pause * 2, 1_000)) {
        const result = await this.#attempt(barrier);
        if (this.#host.ended) return undefined;
        if (result.kind === "committed") return result;
        if (result.kind === "fenced") {
          this.#host.send({ type: "fence.lost" });
          return undefined;
        }
        this.#deps.events({ type: "store.unavailable", sinceMs: clock.now() - since });
        if (clock.now() - since >= settings.storeRetryMs) {
          this.#host.send({ type: "store.unavailable" });
          return undefined;
        }
        await this.#pause(pause);
        if (this.#host.ended) return undefined;
      }
    });
  }

  /** Until the next attempt; no longer than the activation lives. */
  #pause(ms: number): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#host.abort;
    return new Promise((resume) => {
      const end = (): void => {
        clock.clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resume();
      };
      const timer = clock.setTimeout(end, ms);
      signal.addEventListener("abort", end);
    });
  }

  async #attempt(barrier: Barrier): Promise<CommitResult> {
    const chart = this.#host.chartToWrite();
    const journal = this.journal.pending;
    const heads = this.#deliveredHeads;
    const runs = this.#deliveredRuns;
    const result = await this.#deps.store.commit(this.#lease, {
      ...barrier,
      ...(chart ? { chart } : {}),
      ...(journal.length > 0 ? { journal } : {}),
      ...(heads.length > 0 ? { checkpointDelivered: heads } : {}),
      ...(runs.length > 0
        ? { runsChanged: [...(barrier.runsChanged ?? []), ...runs.map((runId) => ({ runId, delivered: true }))] }
        : {}),
    });
    if (result.kind === "committed") {
      this.journal.written(journal.length);
      if (barrier.head) this.head = barrier.head;
      this.#deliveredHeads = rest(this.#deliveredHeads, heads.length);
      this.#deliveredRuns = rest(this.#deliveredRuns, runs.length);
    }
    return result;
  }
}
