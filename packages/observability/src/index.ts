export { EventFanOut } from "./fan-out.ts";
export { eventLog, type LogLevel } from "./log.ts";
