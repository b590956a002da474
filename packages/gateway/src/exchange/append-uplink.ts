import type { Timer, UplinkMessage } from "@chartroom/domain";
import { appendKind, AppendSequencer, type CallHeaders } from "@chartroom/protocol";
import { FAILURES } from "../failures.ts";
import type { GenerationRecord } from "./generation.ts";
import type { Exchange, ExchangePorts, Opening } from "./exchange.ts";
import type { Answer } from "./hand-over.ts";

/** One append, decoded. */
export interface Append {
  readonly seqno: number;
  readonly message: UplinkMessage;
  readonly headers: CallHeaders;
  /** Of the message as it came: its size in bytes, and its digest when it may open a generation. */
  readonly size: number;
  readonly digest: string;
}

interface Pending extends Append {
  readonly answer: PromiseWithResolvers<Answer>;
}

/**
 * The uplink of an exchange whose messages come as appends: puts them in order and answers each one when the
 * conversation has it (lifecycle specification, section 2). The order itself is `AppendSequencer`.
 */
export class AppendUplink {
  readonly #exchange: Exchange;
  readonly #ports: ExchangePorts;
  #sequencer: AppendSequencer<Pending>;
  readonly #held = new Map<number, Pending>();
  /** Numbers whose message could not be kept: the client may send it again. */
  readonly #unsaved = new Set<number>();
  /** An opening that is being decided: what comes meanwhile may belong to the next sequence. */
  #deciding: Promise<unknown> | undefined;
  /** An opening that is with the conversation: what follows it waits. */
  #gate: Promise<unknown> | undefined;
  #expiry: Timer | undefined;

  constructor(exchange: Exchange, ports: ExchangePorts) {
    this.#exchange = exchange;
    this.#ports = ports;
    this.#sequencer = new AppendSequencer(ports.limits.sequencer);
    exchange.onOver = () => this.#handLate(this.#sequencer.close(), exchange.current);
  }

  /** No append of it waits for another one. */
  get idle(): boolean {
    return this.#held.size === 0 && this.#gate === undefined;
  }

  /** Whether anything of an agent's stream was seen under this request id. */
  get known(): boolean {
    return this.#exchange.current !== undefined || this.#sequencer.start !== undefined || this.#held.size > 0;
  }

  /** Takes an append; its answer comes when what it brought is kept, or at once when it has no effect. */
  async take(append: Append): Promise<Answer> {
    const kind = appendKind(append.message);
    if (kind === "heartbeat") {
      this.#exchange.usedMs = this.#ports.clock.now();
      this.#offer({ ...append, answer: Promise.withResolvers() });
      return undefined;
    }
    if (!(await this.#exchange.ready())) {
      if (kind !== "other") this.#exchange.refuseOpening(FAILURES.storeUnavailable);
      return FAILURES.storeUnavailable;
    }
    while (this.#deciding !== undefined) await this.#deciding;
    const pending: Pending = { ...append, answer: Promise.withResolvers() };
    // the order of a generation that another process began is not known here
    if (kind === "other" && this.#exchange.current?.adopted === true) this.#dispatch(pending, this.#exchange.current);
    else this.#offer(pending);
    return pending.answer.promise;
  }

  #offer(pending: Pending): void {
    const { seqno, message, size, answer } = pending;
    const verdict = this.#sequencer.offer(
      { seqno, kind: appendKind(message), size, item: pending },
      this.#ports.clock.now(),
    );
    switch (verdict.kind) {
      case "accepted":
        for (const item of verdict.items) this.#apply(item);
        return;
      case "held":
        this.#held.set(seqno, pending);
        this.#armExpiry();
        return;
      case "duplicate":
        if (verdict.held) void this.#held.get(seqno)?.answer.promise.then(answer.resolve);
        else if (this.#unsaved.delete(seqno)) this.#apply(pending);
        else answer.resolve(undefined);
        return;
      case "late":
        if (message.kind === "run") this.#reopen(pending);
        else if (message.kind === "prewarm")
          answer.resolve(this.#exchange.drop(this.#exchange.current, "late prewarm"));
        // its place in the order is gone, but the conversation may still want it
        else this.#dispatch(pending, this.#exchange.current);
        this.#handLate(verdict.also ?? [], this.#exchange.current);
        return;
      case "opening":
        this.#reopen(pending);
        return;
      case "refused":
        answer.resolve(FAILURES.tooManyHeld);
    }
  }

  /** An opening at a number that is used up: a repeat, or the next generation with a sequence of its own. */
  #reopen(pending: Pending): void {
    const before = this.#exchange.current;
    const { decided, answer } = this.#exchange.open(openingOf(pending));
    void answer.then(pending.answer.resolve);
    this.#gate = answer;
    this.#deciding = decided.then((decision) => {
      this.#deciding = undefined;
      if (decision.kind === "begin") this.#restart(pending, before);
    });
    this.#release(answer);
  }

  #restart(pending: Pending, before: GenerationRecord | undefined): void {
    this.#unsaved.clear();
    const { successor, late } = this.#sequencer.succeed();
    this.#sequencer = successor;
    this.#handLate(late, before);
    const { seqno, message, size } = pending;
    const verdict = this.#sequencer.offer(
      { seqno, kind: appendKind(message), size, item: pending },
      this.#ports.clock.now(),
    );
    if (verdict.kind !== "accepted") return;
    for (const item of verdict.items) if (item !== pending) this.#apply(item);
  }

  #apply(pending: Pending): void {
    this.#held.delete(pending.seqno);
    const { message } = pending;
    if (message.kind === "run" || message.kind === "prewarm") {
      const { answer } = this.#exchange.open(openingOf(pending));
      void answer.then((failure) => this.#settle(pending, failure));
      this.#gate = answer;
      this.#release(answer);
    } else if (this.#gate === undefined) {
      this.#dispatch(pending, this.#exchange.current);
    } else {
      void this.#gate.then(() => this.#dispatch(pending, this.#exchange.current));
    }
  }

  #release(gate: Promise<unknown>): void {
    void gate.then(() => {
      if (this.#gate === gate) this.#gate = undefined;
    });
  }

  #dispatch(pending: Pending, record: GenerationRecord | undefined): void {
    const { message, headers } = pending;
    if (message.kind === "run" || message.kind === "prewarm") throw new Error("an opening is applied, not delivered");
    void this.#exchange.deliver(message, headers, record).then((failure) => this.#settle(pending, failure));
  }

  #settle(pending: Pending, failure: Answer): void {
    if (failure?.retryable === true) this.#unsaved.add(pending.seqno);
    pending.answer.resolve(failure);
  }

  /** What was held for a gap when its generation ended goes to the conversation as it is. */
  #handLate(late: readonly Pending[], record: GenerationRecord | undefined): void {
    for (const pending of late) {
      this.#held.delete(pending.seqno);
      if (appendKind(pending.message) === "other") this.#dispatch(pending, record);
      else this.#apply(pending);
    }
  }

  #armExpiry(): void {
    const deadline = this.#sequencer.nextDeadline;
    if (this.#expiry !== undefined || deadline === undefined) return;
    const { clock } = this.#ports;
    this.#expiry = clock.setTimeout(
      () => {
        this.#expiry = undefined;
        for (const { item, late } of this.#sequencer.expire(clock.now())) {
          this.#held.delete(item.seqno);
          if (late && item.message.kind === "run") this.#apply(item);
          else item.answer.resolve(late ? this.#exchange.drop(this.#exchange.current, "late") : FAILURES.gapExpired);
        }
        this.#armExpiry();
      },
      Math.max(0, deadline - clock.now()),
    );
  }
}

function openingOf({ message, headers, digest }: Pending): Opening {
  if (message.kind !== "run" && message.kind !== "prewarm") throw new Error(`a ${message.kind} opens nothing`);
  return { message, headers, digest };
}
