/**
 * The wire's own messages, and what makes, reads and writes them, for the packages that may import this package but not
 * the generated code: `agent.ShellArgsSchema`, `create(…)`, `toBinary(…)`.
 */
export * as agent from "@chartroom/protocols/agent";
export * as aiserver from "@chartroom/protocols/aiserver";
export { clone, create, equals, fromJson, isMessage, toBinary, toJson } from "@bufbuild/protobuf";
export { fromBinary } from "./from-binary.ts";
export type { DescMessage, Message, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
