import type {
  CanonicalMessage,
  CheckpointNode,
  InboxRow,
  InputAnchor,
  LifecycleEvent,
  ModelCallRow,
  ParentConversationRef,
  PersistedChart,
  RunRow,
  ToolCallRow,
  ToolResultRecord,
} from "@chartroom/domain";
import type {
  checkpoint,
  conversation,
  inbox,
  inputAnchor,
  lifecycleEvent,
  message,
  modelCall,
  run,
  toolCall,
} from "./schema/index.ts";

/** A row without its nulls: the domain's optional fields are absent, never null. */
type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };

function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Present<T>;
}

/** The driver's buffers become plain byte arrays over the same memory. */
export function bytes(value: Uint8Array): Uint8Array {
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

export function toChart(
  row: Pick<typeof conversation.$inferSelect, "machine" | "version" | "state">,
): PersistedChart | undefined {
  if (row.machine === null || row.version === null || row.state === null) return undefined;
  return { machine: row.machine, version: row.version, value: row.state.value, context: row.state.context };
}

export function toParent(
  row: Pick<typeof conversation.$inferSelect, "parentConversationId" | "parentRunId" | "parentToolCallId">,
): ParentConversationRef | undefined {
  const { parentConversationId, parentRunId, parentToolCallId } = row;
  if (parentConversationId === null || parentRunId === null || parentToolCallId === null) return undefined;
  return { parentConversationId, parentRunId, parentToolCallId };
}

export function toRun(row: Omit<typeof run.$inferSelect, "conversationId" | "seq">): RunRow {
  const { runId, kind, status, requestId, generation, traceId, modelId, acceptedAt, delivered, wireRunIds } = row;
  const { failureCode, messageId, agentSessionId, parkDeadline, endedAt, baseHead, finalHead, partial } = row;
  return {
    ...{ runId, kind, status, wireRunIds, requestId, generation, traceId, modelId, acceptedAt, delivered },
    request: bytes(row.request),
    ...present({ failureCode, messageId, agentSessionId, parkDeadline, endedAt, baseHead, finalHead, partial }),
  };
}

export function toInbox(row: Omit<typeof inbox.$inferSelect, "conversationId">): InboxRow {
  const { seq, kind, key, requestId, generation, runId } = row;
  return { seq, kind, key, body: bytes(row.body), requestId, generation, state: "waiting", ...present({ runId }) };
}

export function toMessage(row: Omit<typeof message.$inferSelect, "conversationId">): CanonicalMessage {
  const { id, role, origin, event, runId } = row;
  const content =
    row.content.kind === "toolResult"
      ? { kind: row.content.kind, result: withDisplay(row.content.result, row.display) }
      : row.content;
  return { id, role, origin, content, ...present({ event, runId }) };
}

export function toToolCall(row: Omit<typeof toolCall.$inferSelect, "conversationId" | "seq">): ToolCallRow {
  const { callId, runId, step, modelCallId, providerId, record, status, deadline } = row;
  return {
    ...{ callId, runId, step, modelCallId, providerId, record, status, deadline },
    ...(row.result === null ? {} : { result: withDisplay(row.result, row.display) }),
  };
}

export function toModelCall(row: Omit<typeof modelCall.$inferSelect, "conversationId" | "seq">): ModelCallRow {
  const { modelCallId, runId, step, modelId, usage, startedAt, endedAt, outcome } = row;
  const { purpose, failureCode, prefix, mark } = row;
  return {
    ...{ modelCallId, runId, step, modelId, usage, startedAt, endedAt, outcome },
    ...present({ purpose, failureCode, prefix, mark }),
  };
}

export function toCheckpoint(row: Omit<typeof checkpoint.$inferSelect, "conversationId" | "seq">): CheckpointNode {
  const { id, added, length, delivered, runId, summaryId, keptFrom } = row;
  return {
    ...{ id, added, length, delivered, parent: row.parent ?? undefined },
    ...present({ runId }),
    ...(summaryId === null ? {} : { compaction: { summaryId, ...present({ keptFrom }) } }),
    ...(row.wireState === null ? {} : { wireState: bytes(row.wireState) }),
  };
}

export function toAnchor(row: Pick<typeof inputAnchor.$inferSelect, "inputId" | "event" | "base">): InputAnchor {
  return { inputId: row.inputId, event: row.event, base: row.base ?? undefined };
}

export function toLifecycleEvent(row: Omit<typeof lifecycleEvent.$inferSelect, "conversationId">): LifecycleEvent {
  const { seq, runId, event, at, fence } = row;
  return { seq, runId, event, from: row.fromState, to: row.toState, at, fence };
}

/** The bytes of a result are kept beside its json. */
export function withoutDisplay(result: ToolResultRecord): {
  readonly json: ToolResultRecord;
  readonly display: Uint8Array | undefined;
} {
  const { display, ...json } = result;
  return { json, display };
}

function withDisplay(result: ToolResultRecord, display: Uint8Array | null): ToolResultRecord {
  return display === null ? result : { ...result, display: bytes(display) };
}
