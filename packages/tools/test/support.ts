import type {
  ConversationId,
  ExecReply,
  JsonObject,
  McpToolOffer,
  ModelCallId,
  ProviderCallId,
  RequestContext,
  RunId,
  ToolCallId,
  ToolCallRecord,
  ToolEffect,
  ToolExecution,
  ToolScope,
} from "@chartroom/domain";
import { agent, create, execReply, fromBinary, toBinary, type MessageInitShape } from "@chartroom/protocol";
import { createTools } from "../src/port.ts";

export const tools = createTools();
export const MODEL_CALL = "m1" as ModelCallId;
export const AT = 1_767_225_600_000;

export function context(overrides: Partial<RequestContext> = {}): RequestContext {
  return {
    env: {
      osVersion: "linux 6.1",
      shell: "/bin/bash",
      workspacePaths: ["/ws/demo"],
      timeZone: "UTC",
      projectFolder: "/ws/demo",
      terminalsFolder: "/ws/terminals",
      sandboxEnabled: false,
    },
    rules: [],
    repositories: [],
    skills: [],
    subagents: [],
    mcpServers: [],
    tools: [],
    projectLayouts: [],
    adminCommandDenylist: [],
    ...overrides,
  };
}

export function scope(overrides: Partial<ToolScope> = {}): ToolScope {
  return {
    conversationId: "conv-0001" as ConversationId,
    runId: "run-1" as RunId,
    mode: "agent",
    offers: [],
    context: context(),
    ...overrides,
  };
}

export const SEARCH: McpToolOffer = {
  name: "tracker-search",
  description: "Search issues",
  inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  providerIdentifier: "tracker",
  toolName: "search",
};

export function callOf(name: string, args: JsonObject | string, id = "call_1"): ToolCallRecord {
  return {
    id: id as ToolCallId,
    providerId: "call_0" as ProviderCallId,
    index: 0,
    name,
    arguments: typeof args === "string" ? args : JSON.stringify(args),
  };
}

/** A server message as the client reads it. */
export function decoded(frame: Uint8Array): agent.AgentServerMessage {
  return fromBinary(agent.AgentServerMessageSchema, frame);
}

export function updateOf(frame: Uint8Array): agent.InteractionUpdate["message"] {
  const { message } = decoded(frame);
  if (message.case !== "interactionUpdate") throw new Error(`not an update: ${message.case}`);
  return message.value.message;
}

type AnswerInit = NonNullable<MessageInitShape<typeof agent.ExecClientMessageSchema>["message"]>;

/** What a client answers, through the bytes of the wire. */
export function answer(
  message: AnswerInit,
  rest: Omit<MessageInitShape<typeof agent.ExecClientMessageSchema>, "message"> = {},
): ExecReply {
  const init = { id: 1, execId: "call_1", ...rest, message } as MessageInitShape<typeof agent.ExecClientMessageSchema>;
  const wire = create(agent.ExecClientMessageSchema, init);
  return execReply(fromBinary(agent.ExecClientMessageSchema, toBinary(agent.ExecClientMessageSchema, wire)));
}

type Settled = Extract<ToolEffect, { type: "settled" }>;
type Exec = Extract<ToolEffect, { type: "exec" }>;

/** Plays the client against one call, and keeps all that happened. */
export function play(name: string, args: JsonObject | string, where: Partial<ToolScope> = {}) {
  const call = callOf(name, args);
  const execution: ToolExecution = tools.execute(scope(where), call, MODEL_CALL);
  const effects: ToolEffect[] = [];
  let now = AT;
  const take = (given: readonly ToolEffect[]) => {
    effects.push(...given);
    return given;
  };
  const settledOf = (): Settled | undefined => effects.find((effect): effect is Settled => effect.type === "settled");
  return {
    call,
    execution,
    effects,
    take,
    begin: () => take(execution.begin(now)),
    reply(message: AnswerInit, key?: string, rest?: Parameters<typeof answer>[1]) {
      const open = effects.findLast((effect): effect is Exec => effect.type === "exec");
      return take(execution.reply(key ?? open?.key ?? "", answer(message, rest), (now += 10)));
    },
    control: (control: Parameters<ToolExecution["control"]>[1], key: string) =>
      take(execution.control(key, control, (now += 10))),
    expire: (key: string) => take(execution.expire(key, (now += 1500))),
    interrupt: (reason: Parameters<ToolExecution["interrupt"]>[0]) => take(execution.interrupt(reason, (now += 10))),
    execs: () =>
      effects
        .filter((effect): effect is Exec => effect.type === "exec")
        .map((effect, index) => {
          const { message } = decoded(effect.encode(index + 1));
          if (message.case !== "execServerMessage") throw new Error("not an exec");
          return { key: effect.key, exec: message.value };
        }),
    updates: () => effects.flatMap((effect) => (effect.type === "update" ? [updateOf(effect.frame)] : [])),
    types: () => effects.map(({ type }) => type),
    settled: settledOf,
    /** The result; fails when there is none. */
    result() {
      const settled = settledOf();
      if (settled === undefined) throw new Error("not settled");
      return settled.result;
    },
    /** The tool case of the completed card; fails when there is none. */
    completed() {
      const settled = settledOf();
      const update = settled && updateOf(settled.completed);
      if (update?.case !== "toolCallCompleted" || update.value.toolCall === undefined) throw new Error("no card");
      return update.value.toolCall;
    },
  };
}
