import { pino, type DestinationStream } from "pino";
import type { DomainEvent, DomainEventListener } from "@chartroom/domain";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/**
 * Lines of JSON about domain events, on standard error unless told otherwise: ids, enums, counts and durations; an event
 * carries no content.
 */
export function eventLog(level: LogLevel, destination?: DestinationStream): DomainEventListener {
  const logger = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    destination ?? pino.destination(2),
  );
  const unserved = new Set<string>();
  return (event) => {
    // a client that polls an RPC which is not served would fill the log
    if (event.type === "rpc.unserved") {
      if (unserved.has(event.path)) return;
      if (unserved.size < 1_000) unserved.add(event.path);
    }
    const { type, ...fields } = event;
    logger[levelOf(event)](fields, type);
  };
}

function levelOf(event: DomainEvent): "debug" | "info" | "warn" | "error" {
  switch (event.type) {
    case "chart.error":
    case "gateway.error":
      return "error";
    case "store.unavailable":
    case "chart.unhandled":
    case "conversation.fenced":
    case "prefix.broken":
    case "history.healed":
    case "window.learned":
    case "rpc.unserved":
      return "warn";
    case "run.started":
    case "run.ended":
      return "info";
    default:
      return "debug";
  }
}
