import type { AssistantRecord, CanonicalMessage, ToolCallId, ToolCallRecord } from "@chartroom/domain";
import { digestOf } from "../digest.ts";
import { plainId } from "../ids.ts";
import type { ProblemKind } from "../problem.ts";
import { openCalls } from "../view.ts";
import { partReader, stringOf } from "./read-root.ts";
import { assistantJson, isObject, parseObject } from "./root.ts";

/** How a tool is named in the contracts of `pending_tool_calls` (wire section 8.4). */
export interface ToolContract {
  /** The tool's name in upper case: `READ` for `Read`. */
  readonly toolIdentifier: string;
  readonly isDynamic: boolean;
}

export interface PendingMarks {
  /** Epoch ms at which the round's calls began. */
  readonly startedAtMs: number;
  readonly contract: (toolName: string) => ToolContract;
}

export interface OpenRound {
  readonly record: AssistantRecord;
  /** Where its assistant message stands. */
  readonly at: number;
}

/** The round at the end of a history in which a call has no result yet. */
export function openRound(messages: readonly CanonicalMessage[]): OpenRound | undefined {
  if (openCalls(messages).length === 0) return undefined;
  const at = messages.findLastIndex((message) => message.content.kind === "assistant");
  const content = messages[at]?.content;
  return content?.kind === "assistant" ? { record: content.record, at } : undefined;
}

/** One string for all calls of the pass (wire section 8.4). */
export function pendingJson(record: AssistantRecord, marks: PendingMarks): string {
  const json = assistantJson(record);
  const contracts = record.calls.map((call): [string, unknown] => {
    const { toolIdentifier, isDynamic } = marks.contract(call.name);
    return [
      call.id,
      {
        toolCallId: call.id,
        outerToolName: call.name,
        toolIdentifier,
        isDynamic,
        allowedToolNames: [call.name],
      },
    ];
  });
  const options = json["providerOptions"] as Record<string, Record<string, unknown>>;
  return JSON.stringify({
    ...json,
    providerOptions: {
      ...options,
      cursor: {
        ...options["cursor"],
        pendingToolCallStartedAtMs: marks.startedAtMs,
        pendingToolExecutionContracts: Object.fromEntries(contracts),
      },
    },
  });
}

/** The contract of a tool of which nothing else is known. */
export function plainContract(toolName: string): ToolContract {
  const spaced = toolName.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_").replaceAll(/[^A-Za-z0-9]+/gu, "_");
  return { toolIdentifier: spaced.toUpperCase(), isDynamic: false };
}

/** Ids of the calls that a pending string holds; empty for one that cannot be read. */
export function pendingCallIds(text: string): readonly string[] {
  const content = parseObject(text)?.["content"];
  const parts = Array.isArray(content) ? content.filter(isObject) : [];
  return parts.filter((part) => part["type"] === "tool-call").map((part) => stringOf(part["toolCallId"]));
}

export interface PendingRead {
  /** The open round as one assistant message; `undefined` when no call is left. */
  readonly message: CanonicalMessage | undefined;
  readonly problems: readonly ProblemKind[];
}

/**
 * Reads pending calls in both forms: one string per pass, or one per call. Calls that have a result in history are left out,
 * and a string without a call that is left.
 */
export function readPending(texts: readonly string[], settled: ReadonlySet<string>, position: number): PendingRead {
  const problems: ProblemKind[] = [];
  let first: AssistantRecord | undefined;
  const calls: ToolCallRecord[] = [];
  const seen = new Set<ToolCallId>();
  for (const text of texts) {
    const json = parseObject(text);
    if (json === undefined) {
      problems.push("unreadable-pending-call");
      continue;
    }
    const record = partReader(problems, new Map()).assistant(json, digestOf(text));
    const open = record.calls.filter((call) => !settled.has(call.id) && !seen.has(call.id));
    if (open.length === 0) continue;
    first ??= record;
    for (const call of open) {
      seen.add(call.id);
      calls.push(texts.length > 1 ? { ...call, index: calls.length } : call);
    }
  }
  if (first === undefined) return { message: undefined, problems };
  const id = plainId(position, texts.join("\n"));
  const record = { ...first, calls };
  return {
    message: { id, role: "assistant", origin: "assistant", content: { kind: "assistant", record } },
    problems,
  };
}
