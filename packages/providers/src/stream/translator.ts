import type { ModelEvent } from "@chartroom/domain";
import type { ServerSentEvent } from "./sse.ts";

/** Reads one vendor's stream; one translator per stream. */
export interface Translator {
  /** Adds what an event means to `out`, a terminal event last. Throws a SyntaxError when its data cannot be read. */
  read(event: ServerSentEvent, out: ModelEvent[]): void;
  /** The vendor has said how the answer ended; only trailers (usage, the end mark) are still to come. */
  readonly ending: boolean;
  /** The connection has ended: adds the terminal event if the vendor's own one had come, nothing otherwise. */
  close(out: ModelEvent[]): void;
}

export function isTerminal(event: ModelEvent | undefined): boolean {
  return event?.type === "finished" || event?.type === "failed";
}
