import type { agent } from "@chartroom/protocol";
import type { ExecReply } from "@chartroom/domain";

export { agent, create, fromBinary, fromJson, toBinary, toJson } from "@chartroom/protocol";

/** A tool case with its arguments and, once it is done, its result: what a card shows. */
export type ToolVariant = agent.ToolCall["tool"];
/** The arguments of an exec, as a case of `ExecServerMessage`. */
export type ExecArgs = agent.ExecServerMessage["message"];
/** What the client answered to an exec, as a case of `ExecClientMessage`. */
export type ExecAnswer = agent.ExecClientMessage["message"];

/** The message inside a reply: this package and the codec are the only ones that look into it. */
export function execMessage(reply: ExecReply): agent.ExecClientMessage {
  return reply.body as unknown as agent.ExecClientMessage;
}
