import type {
  Activation,
  ActivationResult,
  AssistantRecord,
  AgentSessionId,
  Barrier,
  BlobId,
  CanonicalMessage,
  ChartContext,
  CheckpointId,
  CheckpointNode,
  CommitResult,
  ConversationId,
  ConversationStore,
  EventId,
  HistoryId,
  InboxRow,
  InputAnchor,
  LifecycleEvent,
  MemberId,
  MessageId,
  ModelCallId,
  ModelCallRow,
  ModelId,
  PersistedChart,
  ProviderCallId,
  RequestId,
  RunId,
  RunRow,
  ToolCallId,
  ToolCallRow,
  ToolResultRecord,
  TraceId,
  WireRunId,
} from "@chartroom/domain";

let made = 0;
/** A name that no other test of the file has. */
export const fresh = (prefix: string): string => `${prefix}-${++made}`;

export const ANN = "ann" as MemberId;
export const BOB = "bob" as MemberId;
export const bytes = (...values: number[]): Uint8Array => new Uint8Array(values);

export function textMessage(id: string, text = `text of ${id}`): CanonicalMessage {
  return {
    id: id as HistoryId,
    role: "user",
    origin: "user",
    content: { kind: "parts", parts: [{ type: "text", text }] },
  };
}

export function toolResult(callId: string, text = "done", more: Partial<ToolResultRecord> = {}): ToolResultRecord {
  return { callId: callId as ToolCallId, toolName: "Shell", text, isError: false, ...more };
}

export function resultMessage(id: string, result: ToolResultRecord): CanonicalMessage {
  return {
    id: id as HistoryId,
    role: "tool",
    origin: "tool",
    content: { kind: "toolResult", result },
    runId: "run-x" as RunId,
  };
}

export function assistantMessage(id: string): CanonicalMessage {
  return {
    ...{
      id: id as HistoryId,
      role: "assistant",
      origin: "assistant",
      runId: "run-x" as RunId,
      event: "event-x" as EventId,
    },
    content: {
      kind: "assistant",
      record: {
        blocks: [
          { type: "thinking", text: "hm", replay: { vendor: "v", data: '{"b":1,"a":2}' } },
          { type: "text", text: "Hello" },
        ],
        calls: [toolCall(`call-${id}`, "run-x").record],
        ...{ modelCallId: "pass-1" as ModelCallId, step: 1, partial: false },
      },
    },
  };
}

/** A node that adds the messages of these ids to `parent`. */
export function checkpoint(id: string, parent: CheckpointNode | undefined, added: readonly string[]): CheckpointNode {
  return {
    id: id as CheckpointId,
    parent: parent?.id,
    added: added as readonly HistoryId[],
    length: (parent?.length ?? 0) + added.length,
    delivered: false,
  };
}

export function anchor(inputId: string, event: string, base?: CheckpointNode): InputAnchor {
  return { inputId, event: event as EventId, base: base?.id };
}

export function runRow(runId: string, more: Partial<RunRow> = {}): RunRow {
  return {
    runId: runId as RunId,
    ...{ kind: "turn", status: "running", requestId: `request-${runId}` as RequestId, generation: 1, delivered: false },
    ...{ traceId: `trace-${runId}` as TraceId, modelId: "model-a" as ModelId, acceptedAt: 1_000 },
    ...{ wireRunIds: ["wire-1" as WireRunId], request: bytes(1, 2, 3), ...more },
  };
}

/** Every optional field set. */
export function fullRunRow(runId: string): RunRow {
  return runRow(runId, {
    ...{ kind: "summarize", status: "failed", failureCode: "PROVIDER_OVERLOADED", parkDeadline: 5_000, endedAt: 4_000 },
    ...{ messageId: `message-${runId}` as MessageId, agentSessionId: "session-1" as AgentSessionId, delivered: true },
    ...{ baseHead: "base" as CheckpointId, finalHead: "final" as CheckpointId, partial: shown("so far\0\ud800") },
    wireRunIds: ["wire-1" as WireRunId, "wire-2" as WireRunId],
  });
}

/** What a Step has shown so far. */
export function shown(text: string): AssistantRecord {
  return { blocks: [{ type: "text", text }], calls: [], modelCallId: "pass-1" as ModelCallId, step: 1, partial: true };
}

export function toolCall(callId: string, runId: string, more: Partial<ToolCallRow> = {}): ToolCallRow {
  return {
    ...{ callId: callId as ToolCallId, runId: runId as RunId, step: 1, modelCallId: "pass-1" as ModelCallId },
    ...{ providerId: "call_0" as ProviderCallId, status: "open", deadline: 9_000 },
    record: {
      ...{ id: callId as ToolCallId, providerId: "call_0" as ProviderCallId, index: 0, name: "Shell" },
      arguments: '{"command":"ls",  "b":1,"a":2}',
    },
    ...more,
  };
}

export function modelCall(modelCallId: string, runId: string, more: Partial<ModelCallRow> = {}): ModelCallRow {
  return {
    ...{ modelCallId: modelCallId as ModelCallId, runId: runId as RunId, step: 1, modelId: "model-a" as ModelId },
    ...{ usage: { inputTokens: 10, outputTokens: 2 }, startedAt: 1, endedAt: 2, outcome: "failed" },
    ...{ failureCode: "PROVIDER_SERVER", prefix: { common: 3, total: 4, brokenBy: "edit", tokensLost: 7 } },
    ...more,
  };
}

export type InboxPut = Omit<InboxRow, "seq" | "state">;
export function inboxPut(key: string, more: Partial<InboxPut> = {}): InboxPut {
  return { kind: "inject", key, body: bytes(9, 8), requestId: "request-1" as RequestId, generation: 1, ...more };
}

export function transition(seq: number, more: Partial<LifecycleEvent> = {}): LifecycleEvent {
  return {
    seq,
    runId: null,
    event: { type: "run.requested", step: seq },
    from: "idle",
    to: { preparing: "claiming" },
    at: 5,
    fence: 1,
    ...more,
  };
}

/** The content of a blob; its id is not checked by the store. */
export function blob(name: string, ...data: number[]): { readonly id: BlobId; readonly data: Uint8Array } {
  return { id: name as BlobId, data: bytes(...data) };
}

export function chart(
  conversationId: string,
  value: PersistedChart["value"],
  more: Partial<ChartContext> = {},
): PersistedChart {
  return {
    ...{ machine: "conversation", version: 1, value },
    context: {
      ...{
        conversationId,
        fence: 1,
        runId: null,
        runKind: "turn",
        step: 0,
        attempt: 0,
        retryAfterMs: 0,
        compacted: false,
      },
      ...{ openCalls: 0, attached: false, joins: 0, urgency: "border", nextRunId: null, nextRunKind: "turn" },
      ...{
        nextAttached: false,
        nextAsked: false,
        asked: false,
        followUp: false,
        outcome: null,
        stop: null,
        callDeadline: 0,
        parkDeadline: 0,
      },
      ...more,
    } as ChartContext,
  };
}

/** Takes a conversation; fails the test when it is not given. */
export async function take(
  store: ConversationStore,
  conversationId: string,
  member: MemberId = ANN,
  create = true,
): Promise<Activation> {
  const result: ActivationResult = await store.activate(conversationId as ConversationId, member, { create });
  if (result.kind !== "active") throw new Error(`not taken: ${result.kind}`);
  return result.activation;
}

/** Commits; fails the test when it is not committed. */
export async function write(
  store: ConversationStore,
  { lease }: Pick<Activation, "lease">,
  barrier: Barrier,
): Promise<Extract<CommitResult, { kind: "committed" }>> {
  const result = await store.commit(lease, barrier);
  if (result.kind !== "committed") throw new Error(`not committed: ${result.kind}`);
  return result;
}
