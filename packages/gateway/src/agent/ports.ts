import type { Principal, Result } from "@chartroom/domain";
import type { HeaderSource } from "@chartroom/protocol";
import type { ExchangePorts } from "../exchange/exchange.ts";
import type { Exchanges } from "../exchange/exchanges.ts";
import type { Transport } from "../stream/transport.ts";

/** Finds out who calls by the headers of a call; `UNAUTHENTICATED` when they do not say. */
export type Authenticate = (header: HeaderSource) => Result<Principal> | Promise<Result<Principal>>;

export interface AgentPorts extends ExchangePorts {
  readonly exchanges: Exchanges;
  readonly authenticate: Authenticate;
  /** Streams that have no Run yet. */
  readonly waiting: Set<Transport>;
}
