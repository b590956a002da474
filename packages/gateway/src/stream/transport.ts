import type { Clock, Downlink, Entropy, Failure, StreamId, Terminal, Timer } from "@chartroom/domain";
import { FAILURES } from "../failures.ts";
import type { HttpResponse } from "../http/types.ts";
import type { GatewayLimits } from "../limits.ts";
import type { Dialect } from "./dialect.ts";
import { FrameBatch } from "./frame-batch.ts";
import { flushLater, type Flushable } from "./flusher.ts";
import { openOutlet, type OutgoingHeaders, type Outlet } from "./outlet.ts";
import { encodeTerminal } from "./terminal.ts";

export interface TransportPorts {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly limits: GatewayLimits;
  /** A serialized heartbeat update. */
  readonly heartbeat: Uint8Array;
  /** A serialized `turn_ended` without counts. */
  readonly turnEnded: Uint8Array;
}

/** What became of a transport: a terminal was written (`own`: by the gateway's decision), or it went away before one. */
export type TransportEnd =
  | { readonly kind: "terminal"; readonly terminal: Terminal; readonly own: boolean }
  | { readonly kind: "lost" };

/** Past so many bytes a batch is written without waiting for the end of the tick. */
const FLUSH_BYTES = 64 * 1024;

/**
 * The sending half of one open stream. Headers and a heartbeat go out at once (wire section 3); messages of one tick go
 * out in one write; exactly one terminal ends it.
 *
 * Heartbeats: this is the one place that decides when the gateway sends them. A stream that nobody wrote to for
 * `heartbeatMs` (a tenth more or less, drawn anew each time) gets one while it waits for its Run. From the first sign
 * of the Run on, the Run's own chart beats through the downlink; the gateway then sends one only after twice that
 * silence, so that there are never two of them and a client never takes a living stream for dead.
 */
export class Transport implements Flushable {
  readonly #ports: TransportPorts;
  readonly #dialect: Dialect;
  readonly #outlet: Outlet;
  readonly #batch = new FrameBatch();
  readonly #watchers: ((end: TransportEnd) => void)[] = [];
  readonly #finishers: ((delivered: boolean) => void)[] = [];
  #claimers: (() => void)[] = [];
  #drains: (() => void)[] = [];
  #losses: (() => void)[] = [];
  #ended: TransportEnd | undefined;
  #owned = false;
  #flushing = false;
  #full = false;
  /** A writer was told to wait. */
  #owesDrain = false;
  #lastWriteMs: number;
  #beatMs: number;
  #beat: Timer;
  #bound: Timer | undefined;

  constructor(response: HttpResponse, dialect: Dialect, headers: OutgoingHeaders, ports: TransportPorts) {
    this.#ports = ports;
    this.#dialect = dialect;
    this.#outlet = openOutlet(response, headers, dialect === "grpc", {
      drained: () => this.#drained(),
      closed: (finished) => this.#closed(finished),
    });
    this.#batch.add(ports.heartbeat);
    this.#write(this.#batch.take());
    this.#lastWriteMs = ports.clock.now();
    this.#beatMs = this.#nextBeat();
    this.#beat = ports.clock.setTimeout(() => this.#onBeat(), this.#beatMs);
    this.#bound = ports.clock.setTimeout(() => this.fail(FAILURES.waitExpired), ports.limits.waitMs);
  }

  get open(): boolean {
    return this.#ended === undefined;
  }

  /** A Run is known to be behind it; until then it waits, and only for a bounded time. */
  get claimed(): boolean {
    return this.#owned;
  }

  /** The stream as the conversation sees it, under the name of its generation. */
  downlink(streamId: StreamId): Downlink {
    const isClosed = (): boolean => !this.open;
    return {
      streamId,
      get closed() {
        return isClosed();
      },
      write: (message) => this.#take(message),
      end: (terminal) => this.#end(terminal, false),
      drop: () => {
        if (this.open) this.#lose();
      },
      onDrain: (listener) => void this.#drains.push(listener),
      onLost: (listener) => {
        const ended = this.#ended;
        if (ended === undefined) this.#losses.push(listener);
        else if (ended.kind === "lost" || ended.own) queueMicrotask(listener);
      },
    };
  }

  /** A Run was accepted for this stream: it waits no longer. */
  claim(): void {
    if (this.#owned || !this.open) return;
    this.#owned = true;
    for (const listener of this.#claimers) listener();
    if (this.#bound !== undefined) this.#ports.clock.clearTimeout(this.#bound);
    this.#bound = undefined;
  }

  /** Ends the stream by the gateway's own decision; for the conversation, if it has the downlink, that is a loss. */
  fail(failure: Failure): void {
    if (!this.open) return;
    const losses = this.#losses;
    this.#end({ kind: "error", failure }, true);
    for (const listener of losses) listener();
  }

  /** An empty finished turn: `turn_ended`, then the terminal. */
  finishTurn(): void {
    if (!this.open) return;
    this.#batch.add(this.#ports.turnEnded);
    this.#end({ kind: "completed" }, true);
  }

  /** Called once when it is claimed, if it ever is. */
  onClaim(listener: () => void): void {
    this.#claimers.push(listener);
  }

  /** Called once when the terminal is written or the transport is gone; at once when that is past. */
  onEnd(listener: (end: TransportEnd) => void): void {
    if (this.#ended === undefined) this.#watchers.push(listener);
    else listener(this.#ended);
  }

  /** Called once when the response is over; `delivered`: all of it, with its terminal, was handed to the system. */
  onFinish(listener: (delivered: boolean) => void): void {
    this.#finishers.push(listener);
  }

  flush(): void {
    this.#flushing = false;
    if (!this.open || this.#full || this.#batch.bytes === 0) return;
    this.#lastWriteMs = this.#ports.clock.now();
    this.#write(this.#batch.take());
    if (!this.#full && this.#owesDrain) this.#tellDrained();
  }

  #take(message: Uint8Array): boolean {
    if (!this.open) return true;
    this.claim();
    this.#batch.add(message);
    const { bytes } = this.#batch;
    if (this.#full) {
      // the writer was told to wait; what it writes all the same is bounded
      if (bytes > this.#ports.limits.downlinkBytes) this.#lose();
    } else if (bytes >= FLUSH_BYTES) {
      this.flush();
    } else if (!this.#flushing) {
      this.#flushing = true;
      flushLater(this);
    }
    this.#owesDrain ||= this.#full;
    return !this.#full;
  }

  #write(parts: readonly Uint8Array[]): void {
    for (const part of parts) this.#full = !this.#outlet.write(part);
  }

  #end(terminal: Terminal, own: boolean): void {
    if (!this.open) return;
    const { tail, trailers } = encodeTerminal(this.#dialect, terminal);
    const parts = this.#batch.take(tail);
    for (const part of parts.slice(0, -1)) this.#outlet.write(part);
    this.#outlet.end(parts.at(-1) ?? tail, trailers);
    this.#settle({ kind: "terminal", terminal, own });
    this.#bound = this.#ports.clock.setTimeout(() => this.#outlet.destroy(), this.#ports.limits.lingerMs);
  }

  #drained(): void {
    this.#full = false;
    if (!this.open) return;
    this.flush();
    if (!this.#full && this.#owesDrain) this.#tellDrained();
  }

  #tellDrained(): void {
    this.#owesDrain = false;
    for (const listener of this.#drains) listener();
  }

  #lose(): void {
    const losses = this.#losses;
    this.#settle({ kind: "lost" });
    this.#outlet.destroy();
    for (const listener of losses) listener();
  }

  #closed(finished: boolean): void {
    if (this.open) this.#lose();
    if (this.#bound !== undefined) this.#ports.clock.clearTimeout(this.#bound);
    this.#bound = undefined;
    for (const listener of this.#finishers) listener(finished && this.#ended?.kind === "terminal");
  }

  #settle(end: TransportEnd): void {
    this.#ended = end;
    this.#drains = [];
    this.#losses = [];
    this.#claimers = [];
    this.#ports.clock.clearTimeout(this.#beat);
    if (this.#bound !== undefined) this.#ports.clock.clearTimeout(this.#bound);
    this.#bound = undefined;
    for (const listener of this.#watchers) listener(end);
  }

  #nextBeat(): number {
    return Math.round(this.#ports.limits.heartbeatMs * (0.9 + 0.2 * this.#ports.entropy.random()));
  }

  #onBeat(): void {
    const due = this.#owned ? 2 * this.#beatMs : this.#beatMs;
    const quiet = this.#ports.clock.now() - this.#lastWriteMs;
    if (quiet < due) {
      this.#beat = this.#ports.clock.setTimeout(() => this.#onBeat(), due - quiet);
      return;
    }
    if (!this.#full) {
      this.#batch.add(this.#ports.heartbeat);
      this.flush();
    }
    this.#beatMs = this.#nextBeat();
    this.#beat = this.#ports.clock.setTimeout(() => this.#onBeat(), this.#beatMs);
  }
}
