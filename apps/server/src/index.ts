export { type RunningServer, type ServerParts, startServer } from "./compose.ts";
export { type Config, loadConfig, type LoadOptions } from "./config/load.ts";
export { ConfigError, type ConfigProblem } from "./config/problem.ts";
