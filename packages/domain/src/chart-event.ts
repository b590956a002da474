import type { FailureCode } from "./errors.ts";
import type { ChartContext, Urgency } from "./chart.ts";

/** What the conversation chart is told: lifecycle only, 10 to 40 per turn. Every event of a Run carries its `runId`. */
export type ConversationEvent =
  | RestoreEvent
  | CommandEvent
  | RunChildReport
  | PrepareEvent
  | ModelEventOfRun
  | ToolEvent
  | InterruptEvent
  | CheckpointEvent
  | FinalizeEvent
  | OwnershipEvent;

type RunScoped = { readonly runId: string };
type RunKind = ChartContext["runKind"];

export type RestoreEvent =
  | {
      readonly type: "restored";
      /** Null: nothing was stored, the conversation is new. */
      readonly context: ChartContext | null;
      readonly resume:
        | "idle"
        | "preparing"
        | "modeling"
        | "waitingTools"
        | "interrupting"
        | "checkpointing"
        | "finalizing";
    }
  | { readonly type: "restore.failed" };

export type CommandEvent =
  /** A Run was accepted. While another one lives it waits for that one's end. `parkDeadline` (epoch ms) holds if no transport ever comes. */
  | (RunScoped & {
      readonly type: "run.requested";
      readonly kind: RunKind;
      readonly followUp: boolean;
      /** An inbox entry opened it. */
      readonly asked: boolean;
      readonly parkDeadline: number;
    })
  /** The inbox holds `joins` rows that the current Run takes at its next border. */
  | { readonly type: "inbox.filled"; readonly joins: number; readonly urgency: Urgency }
  | (RunScoped & { readonly type: "cancel" })
  | (RunScoped & { readonly type: "run.superseded" })
  | { readonly type: "passivate" };

/** Reports of the Run's child chart. */
export type RunChildReport =
  | (RunScoped & { readonly type: "run.attached" })
  | (RunScoped & { readonly type: "run.parked"; readonly parkDeadline: number })
  | (RunScoped & { readonly type: "park.expired" })
  | (RunScoped & { readonly type: "capacity.evicted" });

export type PrepareEvent =
  | (RunScoped & { readonly type: "prepared"; readonly joins: number })
  | (RunScoped & { readonly type: "prepare.failed"; readonly code: FailureCode });

export type ModelEventOfRun =
  | (RunScoped & { readonly type: "model.toolCalls"; readonly calls: number })
  | (RunScoped & { readonly type: "model.completed" })
  | (RunScoped & {
      readonly type: "model.failed";
      readonly code: FailureCode;
      readonly retryable: boolean;
      readonly retryAfterMs: number;
    })
  | (RunScoped & { readonly type: "model.overflowed" })
  | (RunScoped & { readonly type: "compaction.summarized" })
  | (RunScoped & { readonly type: "compaction.committed" })
  | (RunScoped & { readonly type: "compaction.failed"; readonly code: FailureCode });

export type ToolEvent =
  /** The assistant message and its calls are committed; `open` of them have no result yet. */
  | (RunScoped & { readonly type: "step.recorded"; readonly open: number; readonly callDeadline: number })
  /** A result is committed; `open` calls are left. */
  | (RunScoped & {
      readonly type: "tool.settled";
      readonly callId: string;
      readonly open: number;
      readonly callDeadline: number;
    })
  /** An exec heartbeat renewed a call. */
  | (RunScoped & { readonly type: "tool.renewed"; readonly callDeadline: number });

export type InterruptEvent =
  /** Nothing runs any more; what was shown is kept, aborted calls are closed. */
  | (RunScoped & { readonly type: "work.stopped" })
  /** The inbox rows that joined are committed in order; `joins` came in meanwhile. */
  | (RunScoped & { readonly type: "interrupt.settled"; readonly joins: number });

export type CheckpointEvent =
  | (RunScoped & { readonly type: "checkpoint.committed" })
  | (RunScoped & { readonly type: "checkpoint.published"; readonly delivered: boolean });

export type FinalizeEvent =
  | (RunScoped & { readonly type: "run.finalized" })
  | (RunScoped & { readonly type: "run.closed" });

export type OwnershipEvent =
  | { readonly type: "store.unavailable" }
  /** Another owner lives. */
  | { readonly type: "fence.lost" }
  /** A port ended in a way that its contract does not know; the Run fails, the conversation lives. */
  | { readonly type: "port.failed"; readonly port: string };

/** Events of the Run's child chart. `atMs` is epoch ms; `parkDeadline` is what a park at that moment would mean. */
export type CursorRunEvent =
  | { readonly type: "transport.attached" }
  | { readonly type: "transport.lost"; readonly atMs: number; readonly parkDeadline: number }
  /** Another downlink takes the Run; the replay is under way. */
  | { readonly type: "claim" }
  | { readonly type: "replay.finished" }
  | { readonly type: "evict" }
  /** New settings re-arm the park timer from the original age. */
  | { readonly type: "settings.changed"; readonly parkDeadline: number }
  | { readonly type: "close"; readonly reason: RunCloseReason }
  /** Raised by the chart itself. */
  | { readonly type: "beat" }
  /** Consumed Runs: every call of the step is out, the Run waits for its results. */
  | { readonly type: "tool.boundary"; readonly atMs: number; readonly parkDeadline: number }
  /** Consumed Runs: the upstream showed that it lives. */
  | { readonly type: "bytes.received" };

/** What the Run's child chart emits: a heartbeat is due on the attached stream. */
export type CursorRunEmitted = { readonly type: "heartbeat"; readonly runId: string };

export type RunCloseReason =
  | "turn-end"
  | "abort"
  | "superseded"
  | "park-ttl"
  | "park-capacity"
  | "park-mismatch"
  | "session-disposed"
  | "dispose"
  | "stream-error"
  | "resource-exhausted"
  | "stream-idle"
  | "heartbeat-closed"
  | "heartbeat-failed";
