export * from "./conversation.ts";
export * from "./history.ts";
export * from "./inbox.ts";
export * from "./journal.ts";
export * from "./run.ts";
