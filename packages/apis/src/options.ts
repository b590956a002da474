import type { Clock, ModelDirectory } from "@chartroom/domain";

/** Which agent transport a client is told to use (wire section 2.3): its own choice, or one of the two. */
export type TransportChoice = "auto" | "http1" | "http2";

export interface ApiOptions {
  /** The models of this server; read at each call, so that a change shows at the client's next refresh. */
  readonly models: Pick<ModelDirectory, "list" | "defaultModel">;
  readonly clock: Clock;
  /** Names a chat by its first message; without it, or when it fails, the first words are the name. */
  readonly nameChat?: (firstMessage: string, signal: AbortSignal) => Promise<string>;
  /** Where clients reach this server, when that is not what a request says (a proxy in front of it, say). */
  readonly publicUrl?: string;
  readonly transport?: TransportChoice;
  /** What `/metrics` gives a scraper; without it there is none. */
  readonly metrics?: Metrics;
}

export interface Metrics {
  /** Media type of `text`. */
  readonly contentType: string;
  text(): Promise<string>;
}
