import { Agent } from "undici";

/** A connection that nobody used for so long is closed (ms); shorter than what proxies in front of vendors allow. */
const KEEP_ALIVE_MS = 30_000;
const CONNECT_MS = 10_000;

export interface AgentOptions {
  /** Certificate authorities besides the system's, as PEM. */
  readonly ca?: string;
}

/** Keeps connections to providers alive between calls; as many as there are calls at once. Whoever opens it closes it. */
export function openAgent(options: AgentOptions = {}): Agent {
  return new Agent({
    keepAliveTimeout: KEEP_ALIVE_MS,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: CONNECT_MS, ...(options.ca !== undefined && { ca: options.ca }) },
  });
}
