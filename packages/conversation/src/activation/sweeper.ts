import type { RunId, Timer } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import type { ConversationDeps } from "../deps.ts";
import type { Registry } from "./registry.ts";
import type { StreamTable } from "../streams/stream-table.ts";

/** A Run that cannot go on ends as one whose client never came back. */
const OVERDUE = { kind: "failed", code: "PARK_EXPIRED" } as const;

/** Brings back the conversations whose stored deadline has passed, so that a parked Run ends although nobody asks; and lets old output go. */
export class Sweeper {
  readonly #deps: ConversationDeps;
  readonly #registry: Registry;
  readonly #streams: StreamTable;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(deps: ConversationDeps, registry: Registry, streams: StreamTable) {
    this.#deps = deps;
    this.#streams = streams;
    this.#registry = registry;
  }

  start(): void {
    const { clock, settings } = this.#deps;
    this.#timer = clock.setTimeout(
      () => void this.sweep().finally(() => !this.#stopped && this.start()),
      settings.sweepMs,
    );
  }

  async sweep(): Promise<void> {
    const { clock, log, settings, store } = this.#deps;
    log.prune(clock.now(), settings.outputRetentionMs);
    for (const activation of this.#registry.all()) {
      activation.forgetEnded(clock.now() - settings.outputRetentionMs);
      const { lastRun } = activation;
      if (lastRun && clock.now() - (lastRun.row.endedAt ?? 0) >= settings.passivateParkedMs) activation.slim();
    }
    this.#streams.prune();
    for (const activation of this.#registry.all()) await this.#passivateParked(activation);
    // a database that is away is met again at the next round
    await this.#registry.recover().catch(() => undefined);
    const overdue = await store.overdue(clock.now(), 50).catch(() => []);
    for (const { conversationId, member } of overdue)
      await this.#registry.get(conversationId, member, { create: false, stuck: OVERDUE }).catch(() => undefined);
  }

  /** Nobody reads and nothing works: the Run's deadline goes to the store, and the actor out of memory. */
  async #passivateParked(activation: Activation): Promise<void> {
    const { clock, settings } = this.#deps;
    const { context } = activation;
    const since = context.parkDeadline - settings.parkedRunTtlMs;
    if (
      context.runId === null ||
      context.attached ||
      context.parkDeadline === 0 ||
      clock.now() - since < settings.passivateParkedMs
    )
      return;
    const runId = context.runId as RunId;
    const done = await activation.intake.run(() =>
      activation.commit(() => ({ runsChanged: [{ runId, parkDeadline: context.parkDeadline }] })),
    );
    if (done) activation.send({ type: "passivate" });
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== undefined) this.#deps.clock.clearTimeout(this.#timer);
  }
}
