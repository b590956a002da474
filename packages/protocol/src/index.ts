export * from "./blob.ts";
export * from "./wire.ts";
