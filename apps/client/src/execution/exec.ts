import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import type { ExecClientMessage, ExecServerMessage, RequestContext, SubagentResult } from "@chartroom/protocols/agent";
import type { Clock } from "@chartroom/domain";
import type { McpServers } from "../mcp/servers.ts";
import type { Shells } from "../shells/shells.ts";
import type { Folder } from "../workspace/folder.ts";
import type { Consent } from "./consent.ts";

/** What the server asks for: one case of `ExecServerMessage` (wire section 5.2). */
export type ExecRequest = Exclude<ExecServerMessage["message"], { case: undefined }>;
export type ExecCase = ExecRequest["case"];
export type ArgsOf<C extends ExecCase> = Extract<ExecRequest, { case: C }>["value"];
/** What the client answers with: one case of `ExecClientMessage`. */
export type ExecReply = Exclude<ExecClientMessage["message"], { case: undefined }>;

/** What actions work on. */
export interface ExecPorts {
  readonly folder: Folder;
  readonly consent: Consent;
  readonly shells: Shells;
  readonly mcp: McpServers;
  readonly clock: Clock;
  context(): Promise<RequestContext>;
  readonly subagents: Subagents;
}

/** Starts a further run for a Task call (wire section 9); throws a plain reason when it cannot. */
export interface Subagents {
  run(args: ArgsOf<"subagentArgs">, signal: AbortSignal): Promise<SubagentResult>;
}

/** One action under way. */
export interface ExecCall<C extends ExecCase> {
  readonly args: ArgsOf<C>;
  readonly toolCallId: string;
  /** Aborts when the server or the user stops the action; a last result may still be given. */
  readonly signal: AbortSignal;
  /** Sends one event before the result; for streams. */
  readonly send: (event: ExecReply) => void;
}

/** Carries out one kind of action and gives its last message. It never throws for what the wire has a result for. */
export type ExecHandler<C extends ExecCase> = (call: ExecCall<C>, ports: ExecPorts) => Promise<ExecReply>;

/** What the oneof `result` of a message may be set to. */
export type ResultInit<D extends DescMessage> = NonNullable<
  Extract<MessageInitShape<D>, { readonly result?: unknown }>["result"]
>;

/** The code of a failed file operation, such as `ENOENT`. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

/** The message of a failed operation, without the path that Node adds. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message.replace(/, \w+ '.*$/s, "") : String(error);
}

export function isPermission(error: unknown): boolean {
  return ["EACCES", "EPERM", "EROFS"].includes(errorCode(error));
}
