import type { ConversationView, ModelCallRow } from "@chartroom/domain";
import { table } from "../table.ts";

/** A model call as data for scripts: counts, and what of the call before the provider's cache still held. */
export function describeModelCall(row: ModelCallRow) {
  const { modelCallId, runId, step, modelId, purpose, usage, startedAt, endedAt, outcome, failureCode, prefix } = row;
  return {
    modelCallId,
    runId,
    step,
    purpose: purpose ?? "step",
    modelId,
    startedAt: new Date(startedAt).toISOString(),
    tookMs: endedAt - startedAt,
    outcome,
    failureCode: failureCode ?? null,
    usage,
    prefix:
      prefix === undefined
        ? null
        : {
            common: prefix.common,
            total: prefix.total,
            brokenBy: prefix.brokenBy ?? null,
            message: prefix.message ?? null,
            tokensLost: prefix.tokensLost ?? 0,
          },
  };
}

export type DescribedCall = ReturnType<typeof describeModelCall>;

/** How the client's state of each Run stood to ours, and other remarks of its trace; by Run. */
export function describeTraces({ traces }: Pick<ConversationView, "traces">) {
  return Object.fromEntries(traces.map(({ runId, attributes }) => [runId, attributes]));
}

/** The calls for people. A count that the provider did not give is "unknown", which is not 0. */
export function modelCallsText(calls: readonly DescribedCall[]): string {
  if (calls.length === 0) return "No model call yet.\n";
  return table(
    ["MODEL CALL", "STEP", "MODEL", "OUTCOME", "TOOK", "IN", "CACHED", "OUT", "PREFIX", "BROKEN BY", "AT", "LOST"],
    calls.map(({ startedAt, step, purpose, modelId, outcome, failureCode, tookMs, usage, prefix }) => [
      startedAt,
      purpose === "step" ? String(step) : purpose,
      modelId,
      failureCode === null ? outcome : `${outcome} ${failureCode}`,
      `${tookMs} ms`,
      counted(usage.inputTokens),
      counted(usage.cacheReadTokens),
      counted(usage.outputTokens),
      prefix === null ? "" : `${prefix.common}/${prefix.total}`,
      prefix?.brokenBy ?? "",
      prefix?.message ?? "",
      prefix === null || prefix.brokenBy === null ? "" : String(prefix.tokensLost),
    ]),
  );
}

const counted = (count: number | undefined): string => (count === undefined ? "unknown" : String(count));
