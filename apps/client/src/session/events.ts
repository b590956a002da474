import type { JsonValue } from "@bufbuild/protobuf";
import type { ClientFailure } from "../transport/failure.ts";

/**
 * What a turn tells while it goes on. These are the JSON lines of `--json` too (docs/client.md): a name or a field is
 * added at most, never changed. Tool arguments and results are messages of the wire in their JSON form.
 */
export type TurnEvent =
  | {
      readonly type: "turn.started";
      readonly conversation: string;
      readonly requestId: string;
      /** From 1; more than 1 after a reconnect. */
      readonly attempt: number;
      /** `message`: as it was asked; `resume`: from the last checkpoint of this turn. */
      readonly from: "message" | "resume" | "summarize" | "background";
      readonly model: string;
      readonly mode: string;
    }
  | { readonly type: "text"; readonly text: string }
  /** A remark of the server that is no part of the answer. */
  | { readonly type: "notice"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "thinking.completed"; readonly durationMs: number }
  | ({ readonly type: "tool.partial"; readonly argsText: string } & ToolView)
  | ({ readonly type: "tool.started" } & ToolView)
  | {
      readonly type: "tool.output";
      readonly callId: string;
      readonly stream: "stdout" | "stderr" | "edit";
      readonly text: string;
    }
  | ({ readonly type: "tool.completed" } & ToolView)
  /** This client carries something out. */
  | { readonly type: "exec.started"; readonly kind: string; readonly toolCallId: string }
  | {
      readonly type: "exec.completed";
      readonly kind: string;
      readonly toolCallId: string;
      readonly outcome: string;
      readonly durationMs: number;
    }
  /** An event of a subagent's own run, for the Task call of this one. */
  | { readonly type: "subagent"; readonly toolCallId: string; readonly agentId: string; readonly event: TurnEvent }
  /** The user decided; `mode` after a switch. */
  | {
      readonly type: "query";
      readonly kind: string;
      readonly outcome: string;
      readonly mode?: string;
      readonly text?: string;
    }
  /** Output tokens so far. */
  | { readonly type: "tokens"; readonly output: number }
  | { readonly type: "checkpoint"; readonly usedTokens: number; readonly maxTokens: number }
  | { readonly type: "summary.started" }
  | { readonly type: "summary"; readonly text: string }
  | { readonly type: "summary.completed" }
  /** A message that was sent while the turn ran. */
  | { readonly type: "message.sent"; readonly messageId: string; readonly text: string }
  | { readonly type: "message.appended"; readonly messageId: string; readonly text: string }
  | { readonly type: "injection"; readonly injectionId: string; readonly state: string; readonly reason: string }
  | { readonly type: "step"; readonly phase: "started" | "completed"; readonly step: number }
  | { readonly type: "model"; readonly name: string }
  | { readonly type: "suggestion"; readonly text: string }
  /** Another update of the server that this client only passes on. */
  | { readonly type: "other"; readonly kind: string }
  /** Nothing came for a while; a reconnect follows if it stays so. */
  | { readonly type: "stalled"; readonly silentMs: number }
  | {
      readonly type: "retry";
      readonly attempt: number;
      readonly delayMs: number;
      readonly from: "message" | "resume";
      readonly reason: string;
    }
  /** What follows replaces what was shown since the last checkpoint. */
  | { readonly type: "restarted" }
  | { readonly type: "cancelling" }
  | ({ readonly type: "turn.ended" } & TurnUsage)
  | ({ readonly type: "result" } & TurnResult);

export interface ToolView {
  readonly callId: string;
  readonly toolCallId: string;
  /** `read`, `shell`, `edit`, `mcp`, …: the wire's name without `ToolCall`. */
  readonly tool: string;
  readonly args: JsonValue;
  readonly result?: JsonValue;
  /** Case of the result: `success`, `failure`, `error`, `rejected`, …; absent while there is none. */
  readonly outcome?: string;
}

/** An absent count is unknown. */
export interface TurnUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

export interface TurnResult {
  readonly outcome: "completed" | "failed" | "cancelled";
  readonly conversation: string;
  /** Of the last attempt. */
  readonly requestId: string;
  readonly attempts: number;
  /** The answer, without notices. */
  readonly text: string;
  readonly usage: TurnUsage;
  readonly error?: ClientFailure;
  /** Messages sent meanwhile that the server did not take any more. */
  readonly unsent: readonly SentMessage[];
}

export interface SentMessage {
  readonly messageId: string;
  readonly text: string;
}
