import type { ConversationId, ModelId, RunId, TraceId, MemberId } from "./ids.ts";
import type { Outcome, StateValue } from "./chart.ts";
import type { Usage } from "./update.ts";

/** Facts for observability: ids, enums, counts and durations; never content, keys or results. */
export type DomainEvent =
  | {
      readonly type: "conversation.activated";
      readonly conversationId: ConversationId;
      readonly member: MemberId;
      readonly fence: number;
      readonly restored: boolean;
    }
  | { readonly type: "conversation.passivated"; readonly conversationId: ConversationId }
  | { readonly type: "conversation.fenced"; readonly conversationId: ConversationId }
  | {
      readonly type: "chart.transition";
      readonly conversationId: ConversationId;
      readonly runId: RunId | null;
      readonly event: string;
      readonly from: StateValue;
      readonly to: StateValue;
    }
  | {
      readonly type: "chart.unhandled";
      readonly conversationId: ConversationId;
      readonly event: string;
      readonly state: StateValue;
    }
  | { readonly type: "chart.error"; readonly conversationId: ConversationId; readonly message: string }
  /** What nobody expected of a call: the caller was told `internal`. */
  | { readonly type: "gateway.error"; readonly message: string }
  | {
      readonly type: "run.started";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
      readonly traceId: TraceId;
    }
  | {
      readonly type: "run.ended";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
      readonly outcome: Outcome;
      readonly steps: number;
      readonly durationMs: number;
      readonly usage: Usage;
    }
  | {
      readonly type: "run.attached" | "run.parked" | "run.claimed";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
    }
  | {
      readonly type: "step.ended";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
      readonly step: number;
      readonly usage: Usage;
      readonly durationMs: number;
      readonly outcome: string;
    }
  | {
      readonly type: "tool.settled";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
      readonly tool: string;
      readonly error: boolean;
      readonly durationMs: number;
    }
  | {
      readonly type: "prefix.broken";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
      readonly cause: string;
      readonly tokensLost: number;
    }
  /** Where a client's state stood among ours when its Run began. */
  | {
      readonly type: "history.related";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
      readonly relation: HistoryRelation;
    }
  /** What is wrong with a history was healed on its way to a model; the rows stay as they are. */
  | {
      readonly type: "history.healed";
      readonly conversationId: ConversationId;
      readonly runId: RunId;
      readonly kinds: readonly string[];
      readonly count: number;
    }
  /** An overflow showed that a model's real window is smaller than the configured one. */
  | {
      readonly type: "window.learned";
      readonly conversationId: ConversationId;
      readonly modelId: ModelId;
      readonly tokens: number;
      readonly configured: number;
    }
  | { readonly type: "input.dropped"; readonly conversationId: ConversationId | null; readonly reason: string }
  | { readonly type: "rpc.unserved"; readonly path: string }
  | { readonly type: "store.unavailable"; readonly sinceMs: number };

/**
 * `continue`: at our head; `shrunk`: there too, but it has lost entries, ours win; `stale`: older, and nothing newer was
 * delivered; `rewind`: older, or an edit: a branch from there; `branch`: it says other things behind a common part; `import`:
 * nothing in common with ours.
 */
export type HistoryRelation = "new" | "continue" | "shrunk" | "stale" | "rewind" | "branch" | "import";

export type DomainEventListener = (event: DomainEvent) => void;
