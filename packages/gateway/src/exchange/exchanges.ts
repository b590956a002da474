import type { Principal, RequestId } from "@chartroom/domain";
import { parseRequestId } from "@chartroom/protocol";
import { AppendUplink } from "./append-uplink.ts";
import { Exchange, type ExchangePorts } from "./exchange.ts";

/** An exchange with the uplink of its appends. */
export interface OpenExchange {
  readonly exchange: Exchange;
  readonly uplink: AppendUplink;
}

/**
 * The exchanges of this process, by member and request id. One that nobody used for `retentionMs` is forgotten, and the
 * longest unused one makes room when there are too many; what binds a request id stays in the store.
 */
export class Exchanges {
  readonly #ports: ExchangePorts;
  readonly #open = new Map<string, OpenExchange>();
  #sweeping = false;
  #closed = false;

  constructor(ports: ExchangePorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The exchange of a request id; `undefined` when there is no room for one more. */
  get(principal: Principal, requestId: RequestId): OpenExchange | undefined {
    // neither id holds a space
    const key = `${principal.member} ${requestId}`;
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    if (this.#open.size >= this.#ports.limits.maxExchanges && !this.#evict()) return undefined;
    const exchange = new Exchange(principal, requestId, this.#ports, false);
    const opened = { exchange, uplink: new AppendUplink(exchange, this.#ports) };
    this.#open.set(key, opened);
    this.#sweepLater();
    return opened;
  }

  /** An exchange for a stream that has no request id: nothing can be attached to it again. */
  make(principal: Principal): Exchange {
    const requestId = parseRequestId(this.#ports.entropy.uuid(), "x-request-id");
    if (!requestId.ok) throw new Error("the entropy port made an id that no parser takes");
    return new Exchange(principal, requestId.value, this.#ports, true);
  }

  close(): void {
    this.#closed = true;
    this.#open.clear();
  }

  #sweepLater(): void {
    if (this.#sweeping || this.#closed) return;
    this.#sweeping = true;
    const { clock, limits } = this.#ports;
    clock.setTimeout(
      () => {
        this.#sweeping = false;
        const before = clock.now() - limits.retentionMs;
        for (const [key, opened] of this.#open)
          if (unused(opened) && opened.exchange.usedMs <= before) this.#open.delete(key);
        if (this.#open.size > 0) this.#sweepLater();
      },
      Math.ceil(limits.retentionMs / 10),
    );
  }

  #evict(): boolean {
    let oldest: string | undefined;
    let usedMs = Infinity;
    for (const [key, opened] of this.#open) {
      if (opened.exchange.usedMs >= usedMs || !unused(opened)) continue;
      oldest = key;
      usedMs = opened.exchange.usedMs;
    }
    return oldest !== undefined && this.#open.delete(oldest);
  }
}

function unused({ exchange, uplink }: OpenExchange): boolean {
  return exchange.idle && uplink.idle;
}
