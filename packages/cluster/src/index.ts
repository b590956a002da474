export { LocalCommandBus, LocalDirectory } from "./directory.ts";
export { LocalOutputLog, ringLimits } from "./output-log.ts";
export type { RingLimits } from "./ring.ts";
