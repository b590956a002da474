import type { AssistantRecord, FinishReason, ProviderFailure, StreamedCall, Usage } from "@chartroom/domain";
import type { StepRecord } from "./record.ts";

/** How a Step ended. `usage` is what the provider counted, also of a pass that failed. */
export type StepOutcome =
  /** The model ended its answer. `length`: the text was cut at the output limit. */
  | {
      readonly kind: "completed";
      readonly finish: "stop" | "length";
      readonly record: AssistantRecord;
      readonly usage: Usage;
    }
  /** The model asked for tools and ended properly: every call may be run. */
  | { readonly kind: "toolCalls"; readonly record: AssistantRecord; readonly usage: Usage }
  /** The output limit came inside a tool call, or before anything was said: no call may be run (case PR-02). */
  | ({ readonly kind: "outputLimit" } & CutShort)
  | ({ readonly kind: "failed"; readonly failure: ProviderFailure } & CutShort)
  | ({ readonly kind: "aborted" } & CutShort);

export interface CutShort {
  /** What was shown, without calls: none of them will ever have a result. */
  readonly partial: AssistantRecord;
  /** Something of this Step reached the sink, so it must not be tried again. */
  readonly shown: boolean;
  /** Calls that were opened on the sink and will not be run: their bubbles want closing. */
  readonly abandoned: readonly StreamedCall[];
  readonly usage: Usage;
}

/** The stream's last word, as the Step saw it; `undefined`: it ended without one. */
export type StreamEnd =
  | { readonly type: "finished"; readonly reason: FinishReason; readonly raw: string }
  | { readonly type: "failed"; readonly failure: ProviderFailure }
  | undefined;

/**
 * Decides what a stream that has ended amounts to. Calls are run only after the vendor's own terminal event (case PR-23),
 * whatever reason it gives: some vendors end a pass with calls as `stop`.
 */
export function conclude(record: StepRecord, end: StreamEnd, usage: Usage, aborted: boolean): StepOutcome {
  const cut: CutShort = { partial: record.partial(), shown: record.shown, abandoned: record.opened(), usage };
  if (aborted || (end?.type === "failed" && end.failure.kind === "aborted")) return { kind: "aborted", ...cut };
  if (end === undefined) return { kind: "failed", failure: interrupted, ...cut };
  if (end.type === "failed") return { kind: "failed", failure: end.failure, ...cut };
  if (end.reason === "refusal" || end.reason === "contentFilter") {
    return { kind: "failed", failure: refused(record.visibleText(), end.raw), ...cut };
  }
  if (end.reason === "length") {
    if (record.hasCalls || record.visibleText().trim() === "") return { kind: "outputLimit", ...cut };
    return { kind: "completed", finish: "length", record: record.complete(), usage };
  }
  if (record.hasCalls) return { kind: "toolCalls", record: record.complete(), usage };
  return { kind: "completed", finish: "stop", record: record.complete(), usage };
}

const interrupted: ProviderFailure = {
  kind: "interrupted",
  message: "The answer ended before the model had finished it.",
  retryable: true,
};

function refused(text: string, raw: string): ProviderFailure {
  const said = text.trim().slice(0, 500);
  return { kind: "refused", message: said || `The model refused to answer (${raw.slice(0, 100)}).`, retryable: false };
}
