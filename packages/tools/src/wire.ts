import type { agent } from "@chartroom/protocol";

export {
  agent,
  blobId,
  create,
  encodeServerMessage,
  execClientMessage,
  fromBinary,
  fromJson,
  toBinary,
} from "@chartroom/protocol";

/** A tool case with its arguments and, once it is done, its result: what a card shows. */
export type ToolVariant = agent.ToolCall["tool"];
/** The arguments of an exec, as a case of `ExecServerMessage`. */
export type ExecArgs = agent.ExecServerMessage["message"];
/** What the client answered to an exec, as a case of `ExecClientMessage`. */
export type ExecAnswer = agent.ExecClientMessage["message"];
