export { connect, type ConnectOptions, type Sql } from "./connection.ts";
export { type Embedded, type EmbeddedOptions, startEmbedded } from "./embedded/embedded.ts";
export { runningEmbedded } from "./embedded/running.ts";
export { StoreError, type StoreErrorCode } from "./failure.ts";
export { migrate } from "./migrate.ts";
export { openStore, type Store, type StoreOptions } from "./open.ts";
