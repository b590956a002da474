import { agent, blobIdOf, create, fromBinary, toBinary } from "@chartroom/protocol";
import type { AgentMode, Blob, BlobId, CanonicalMessage, HistoryId } from "@chartroom/domain";
import { inputOfEvent, spaceOf } from "../ids.ts";
import { type AgentTurn, makeBlob, rawId, readTurn } from "./state.ts";

/*
 * `turns`: what the client shows. A turn begins with a user's message and holds what followed as steps. An entry of a turn
 * that is over never changes; the newest is written anew while its turn goes on (wire section 8.2).
 */

export interface TurnInfo {
  /** Serialized `UserMessage`s as the client sent them, by the id of their canonical message. */
  readonly userMessages: ReadonlyMap<HistoryId, Uint8Array>;
  readonly requestId?: string;
  readonly mode: AgentMode;
}

export interface TurnsInput {
  /** Raw turn ids of the previous state. */
  readonly before: readonly Uint8Array[];
  /** The messages that are among the root prompt messages, in order. */
  readonly messages: readonly CanonicalMessage[];
  /** How many of them the previous state had. */
  readonly covered: number;
  /** The branch stands on a compaction: older turns are in the previous state alone. */
  readonly compacted: boolean;
  readonly info: TurnInfo;
  readonly blob: (id: BlobId) => Uint8Array | undefined;
  /** Write the last turn from history when its blobs cannot be had. */
  readonly without: boolean;
}

export interface TurnsResult {
  readonly turns: readonly Uint8Array[];
  readonly blobs: readonly Blob[];
  /** Blobs without which the last turn cannot be continued. */
  readonly missing: readonly BlobId[];
}

export function encodeTurns(input: TurnsInput): TurnsResult {
  const { before, messages, covered, info } = input;
  if (covered === messages.length) return { turns: before, blobs: [], missing: [] };
  const starts = messages.flatMap((message, at) => (startsTurn(message, info) ? [at] : []));
  const last = lastTurn(input);
  if (last.missing.length > 0 && !input.without) return { turns: before, blobs: [], missing: last.missing };

  const blobs: Blob[] = [];
  const keep = (blob: Blob): Uint8Array => {
    blobs.push(blob);
    return rawId(blob.id);
  };
  const stepsOf = (from: number, to: number): Uint8Array[] =>
    messages.slice(from, to).flatMap((message) => messageSteps(message).map((step) => keep(makeBlob(step))));
  const close = (turn: AgentTurn): Uint8Array => {
    const made = create(agent.ConversationTurnStructureSchema, {
      turn: { case: "agentConversationTurn", value: turn },
    });
    return keep(makeBlob(toBinary(agent.ConversationTurnStructureSchema, made)));
  };

  const turns = [...before];
  const continued = continuedStart(input, starts, last.messageId);
  let fresh = starts.filter((at) => at > continued);
  if (continued >= 0 && last.turn !== undefined) {
    const to = fresh[0] ?? messages.length;
    const all = stepsOf(continued + 1, to);
    const had = last.turn.steps;
    const same = had.length <= all.length && had.every((raw, at) => equalBytes(raw, all[at]));
    const more = same ? all.slice(had.length) : stepsOf(Math.max(covered, continued + 1), to);
    if (more.length > 0) turns[turns.length - 1] = close({ ...last.turn, steps: [...had, ...more] });
  } else if (input.compacted && before.length > 0) {
    // the older turns are in the state already, and their messages may be part of the kept tail
    fresh = fresh.filter((at) => (covered > 0 ? at >= covered : info.userMessages.has(messages[at]!.id)));
  } else {
    turns.length = 0;
    fresh = starts;
  }
  for (const [place, at] of fresh.entries()) {
    const message = messages[at];
    if (message === undefined) continue;
    const said = info.userMessages.get(message.id) ?? plainUserMessage(message, info.mode);
    const turn = create(agent.AgentConversationTurnStructureSchema, {
      userMessage: keep(makeBlob(said)),
      steps: stepsOf(at + 1, fresh[place + 1] ?? messages.length),
      ...(info.requestId === undefined ? {} : { requestId: info.requestId }),
    });
    turns.push(close(turn));
  }
  return { turns, blobs, missing: [] };
}

function startsTurn(message: CanonicalMessage, info: TurnInfo): boolean {
  return message.role === "user" && (message.origin === "user" || info.userMessages.has(message.id));
}

interface LastTurn {
  readonly turn: AgentTurn | undefined;
  readonly messageId: string | undefined;
  readonly missing: readonly BlobId[];
}

/** The newest turn of the previous state and the message id of its user message. */
function lastTurn(input: TurnsInput): LastTurn {
  const none: LastTurn = { turn: undefined, messageId: undefined, missing: [] };
  const raw = input.before.at(-1);
  const id = raw === undefined ? undefined : blobIdOf(raw);
  if (id === undefined) return none;
  const data = input.blob(id);
  if (data === undefined) return { ...none, missing: [id] };
  const turn = readTurn(data);
  if (turn === undefined) return none;
  const messageBlob = blobIdOf(turn.userMessage);
  if (messageBlob === undefined) return { ...none, turn };
  const said = input.blob(messageBlob);
  if (said === undefined) return { turn, messageId: undefined, missing: [messageBlob] };
  return { turn, messageId: readMessageId(said), missing: [] };
}

function readMessageId(data: Uint8Array): string | undefined {
  try {
    return fromBinary(agent.UserMessageSchema, data).messageId;
  } catch {
    return undefined;
  }
}

/** Where the newest turn of the previous state begins in the messages; -1 when that cannot be told. */
function continuedStart(input: TurnsInput, starts: readonly number[], messageId: string | undefined): number {
  const { messages, covered } = input;
  const byId = starts.findLast((at) => {
    const id = messages[at]?.id;
    return id !== undefined && messageId !== undefined && messageIdOf(id) === messageId;
  });
  if (byId !== undefined) return byId;
  return starts.findLast((at) => at < covered) ?? -1;
}

/** The client's message id in the id of a user message; the id itself for every other message. */
function messageIdOf(id: HistoryId): string {
  const space = spaceOf(id);
  return (space?.space === "user-message" ? inputOfEvent(space.rest) : undefined) ?? id;
}

/** A `UserMessage` for a message of which the client's own form is not at hand. */
function plainUserMessage(message: CanonicalMessage, mode: AgentMode): Uint8Array {
  const parts = message.content.kind === "parts" ? message.content.parts : [];
  const text = parts.findLast((part) => part.type === "text")?.text ?? "";
  return toBinary(
    agent.UserMessageSchema,
    create(agent.UserMessageSchema, { text, messageId: messageIdOf(message.id), mode: modeNumber(mode) }),
  );
}

export function modeNumber(mode: AgentMode): agent.AgentMode {
  return agent.AgentMode[mode.toUpperCase() as keyof typeof agent.AgentMode];
}

/** Serialized `ConversationStep`s that a message shows as. A call is shown once it has its result. */
function messageSteps(message: CanonicalMessage): readonly Uint8Array[] {
  const { content } = message;
  if (content.kind === "toolResult") {
    const { result } = content;
    const value = result.display === undefined ? plainCall(result) : readCall(result.display);
    return [step({ case: "toolCall", value })];
  }
  if (content.kind === "parts") return [];
  return content.record.blocks
    .filter((block) => block.text !== "")
    .map((block) =>
      block.type === "text"
        ? step({
            case: "assistantMessage",
            value: create(agent.AssistantMessageSchema, { text: block.text.toWellFormed() }),
          })
        : step({
            case: "thinkingMessage",
            value: create(agent.ThinkingMessageSchema, { text: block.text.toWellFormed() }),
          }),
    );
}

function step(message: agent.ConversationStep["message"]): Uint8Array {
  return toBinary(agent.ConversationStepSchema, create(agent.ConversationStepSchema, { message }));
}

function readCall(display: Uint8Array): agent.ToolCall {
  try {
    return fromBinary(agent.ToolCallSchema, display);
  } catch {
    return create(agent.ToolCallSchema);
  }
}

/** A card for a result that came without one. */
function plainCall(result: {
  readonly callId: string;
  readonly toolName: string;
  readonly text: string;
  readonly isError: boolean;
}): agent.ToolCall {
  const text = result.text.toWellFormed();
  return create(agent.ToolCallSchema, {
    toolCallId: result.callId,
    tool: {
      case: "mcpToolCall",
      value: create(agent.McpToolCallSchema, {
        args: create(agent.McpArgsSchema, {
          name: result.toolName,
          toolName: result.toolName,
          toolCallId: result.callId,
        }),
        result: create(agent.McpToolResultSchema, {
          result: result.isError
            ? { case: "error", value: create(agent.McpToolErrorSchema, { error: text }) }
            : {
                case: "success",
                value: create(agent.McpSuccessSchema, {
                  content: [
                    create(agent.McpToolResultContentItemSchema, {
                      content: { case: "text", value: create(agent.McpTextContentSchema, { text }) },
                    }),
                  ],
                }),
              },
        }),
      }),
    },
  });
}

function equalBytes(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && a.byteLength === b.byteLength && a.every((byte, at) => byte === b[at]);
}
