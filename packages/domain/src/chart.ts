import type { FailureCode } from "./errors.ts";

/** What the store keeps of an actor: never children, never timers (deadlines are in the context). */
export interface PersistedChart {
  readonly machine: "conversation";
  readonly version: number;
  /** XState state value of the root. */
  readonly value: StateValue;
  readonly context: ChartContext;
}
export type StateValue = string | { readonly [state: string]: StateValue };

export type OutcomeKind = "completed" | "cancelled" | "failed" | "superseded";
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly code: FailureCode | null;
}

/** How what waits in the inbox wants the running Step to be treated. */
export type Urgency = "border" | "settle" | "now";

/** Context of the conversation chart: ids, small enums, counters, deadlines; under 2 KB of JSON. */
export interface ChartContext {
  readonly conversationId: string;
  readonly fence: number;
  readonly maxAttempts: number;
  readonly maxSteps: number;
  /** The Run being carried out; null in `idle`. */
  readonly runId: string | null;
  readonly runKind: "turn" | "summarize";
  /** Steps begun in this Run. */
  readonly step: number;
  /** Attempts of this Step that failed. */
  readonly attempt: number;
  readonly retryAfterMs: number;
  /** This Run has compacted because of an overflow. */
  readonly compacted: boolean;
  readonly openCalls: number;
  /** A transport is attached to the Run. */
  readonly attached: boolean;
  /** An inbox entry asks for this Step: it is made though nobody reads. */
  readonly asked: boolean;
  /** Rows in the inbox that join the Run at its next border. */
  readonly joins: number;
  readonly urgency: Urgency;
  /** The Run that waits for this one to end; null if none. */
  readonly nextRunId: string | null;
  readonly nextRunKind: "turn" | "summarize";
  readonly nextAttached: boolean;
  readonly nextAsked: boolean;
  /** The waiting Run came on this Run's live stream: no terminal between them. */
  readonly followUp: boolean;
  /** Decided once; the first cause wins. */
  readonly outcome: Outcome | null;
  /** A stop that came during a commit substate; looked at when the commit is done. */
  readonly stop: Outcome | null;
  /** Epoch ms by which a state must be left; 0 is none. */
  readonly callDeadline: number;
  readonly parkDeadline: number;
  readonly nextParkDeadline: number;
  /** Why the activation ended; null while it lives. */
  readonly release: ReleaseReason | null;
}

/** Why an actor leaves memory. The conversation itself has no end. */
export type ReleaseReason = "passivated" | "fence-lost" | "store-unavailable" | "restore-failed" | "port-failed";

/** What the conversation chart is started with. */
export interface ConversationInput {
  readonly conversationId: string;
  readonly fence: number;
  /** Attempts of one Step, and Steps of one Run, before it fails. */
  readonly maxAttempts: number;
  readonly maxSteps: number;
}

/** Facts that the chart emits for its runtime; never a decision that the runtime could take itself. */
export type ConversationEmitted =
  | { readonly type: "waiting.replaced"; readonly runId: string }
  | { readonly type: "waiting.cancelled"; readonly runId: string }
  | { readonly type: "waiting.expired"; readonly runId: string; readonly code: FailureCode };

/** Input of the Run's child chart. */
export interface CursorRunInput {
  readonly runId: string;
  readonly direction: "served" | "consumed";
  /** Epoch ms. `restored`: the deadline with which it parks at once; else the one that holds if no transport ever comes. */
  readonly parkDeadline: number;
  readonly restored: boolean;
}

/** Context of the Run's child chart. Times are epoch ms, 0 for none. */
export interface CursorRunContext {
  readonly runId: string;
  readonly direction: "served" | "consumed";
  readonly restored: boolean;
  readonly attached: boolean;
  readonly parkedAt: number;
  readonly parkDeadline: number;
  readonly reason: string | null;
}

/** A row of the journal: an event as JSON of ids, enums, counts and clock; no content. A restore is a row too. */
export interface LifecycleEvent {
  /** From 1 within one fence; the order of the journal is (fence, seq). */
  readonly seq: number;
  readonly runId: string | null;
  readonly event: Readonly<Record<string, unknown>> & { readonly type: string };
  readonly from: StateValue;
  readonly to: StateValue;
  /** Epoch ms. */
  readonly at: number;
  readonly fence: number;
}
