export { EventFanOut } from "./fan-out.ts";
export { eventLog, type LogLevel } from "./log.ts";
export { type EventMetrics, eventMetrics } from "./metrics.ts";
