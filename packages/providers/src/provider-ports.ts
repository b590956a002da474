import type { Clock } from "@chartroom/domain";
import type { Dispatcher } from "undici";

/** What an adapter that calls a vendor over HTTP needs from outside. */
export interface ProviderPorts {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
}
