import { modelCallId, transcript } from "@chartroom/history";
import { compactionPrompt } from "@chartroom/prompting";
import { complete, type Completion } from "@chartroom/run";
import type { FailureCode, ModelCallRow, ModelRequest } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { compiledOf } from "../history/compile.ts";
import { codeOf, detailOf } from "../failures.ts";
import { learnWindow } from "../history/learn-window.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { survivorsOf } from "../history/survivors.ts";
import type { PortCall } from "./port.ts";

/** What of the window the transcript may take: the estimate is one, and the instruction stands behind it. */
const TRANSCRIPT_SHARE = 0.8;

/** A model call without tools writes the summary; the old head stays until it is committed. */
export async function summarize({ activation, run, step, signal, send }: PortCall): Promise<void> {
  const { codec, clock, settings } = activation.deps;
  const { runId } = run.row;
  const { provider } = compiledOf(run);
  activation.append(run, "update", codec.update({ kind: "summaryStarted" }));
  const startedAt = clock.now();
  const completion = await complete({
    provider,
    request: summaryRequest(activation, run),
    limits: settings.model,
    signal,
  });
  run.addUsage(completion.usage);
  const failed = failureOf(completion);
  run.modelCalls.push({
    modelCallId: modelCallId(runId, step, 0),
    ...{ runId, step, modelId: compiledOf(run).model.id, purpose: "summary", usage: completion.usage, startedAt },
    endedAt: clock.now(),
    ...endOf(signal.aborted, failed?.code),
  });
  if (signal.aborted) return;
  if (!completion.ok && completion.failure.kind === "overflow") learnWindow(activation, run, completion.failure);
  if (failed) {
    activation.window.compactionFailed(activation.history.view);
    run.failureDetail = failed.detail;
    return send({ type: "compaction.failed", runId, code: failed.code });
  }
  run.survivors = await survivorsOf(activation, run, signal);
  if (signal.aborted) return;
  run.summary = completion.ok ? completion.text : "";
  activation.append(run, "update", codec.update({ kind: "summary", text: run.summary }));
  send({ type: "compaction.summarized", runId });
}

/** Why an answer is no summary; `undefined`: it is one. */
function failureOf(completion: Completion): { readonly code: FailureCode; readonly detail: string } | undefined {
  if (!completion.ok) return { code: codeOf(completion.failure), detail: detailOf(completion.failure) };
  const why = completion.truncated
    ? "it reached its output limit"
    : completion.called
      ? "it asked for a tool"
      : completion.text.trim() === ""
        ? "it said nothing"
        : undefined;
  return why === undefined
    ? undefined
    : { code: "COMPACTION_FAILED", detail: `The model wrote no summary: ${why}. The conversation is as it was.` };
}

function endOf(aborted: boolean, code: FailureCode | undefined): Pick<ModelCallRow, "outcome" | "failureCode"> {
  if (aborted) return { outcome: "aborted" };
  return code === undefined ? { outcome: "completed" } : { outcome: "failed", failureCode: code };
}

/** The conversation as text in one user message: a history that the window refused cannot be sent as it is. */
function summaryRequest(activation: Activation, run: LiveRun): ModelRequest {
  const { model } = compiledOf(run);
  const room = Math.max(1_000, activation.window.windowOf(model) - model.maxOutputTokens - 2_000);
  const said = transcript(activation.history.view.messages, Math.floor(room * TRANSCRIPT_SHARE));
  const { system, instruction } = compactionPrompt();
  return {
    model,
    system,
    tools: [],
    messages: [{ role: "user", parts: [{ type: "text", text: `${said}\n\n${instruction}` }] }],
    maxOutputTokens: model.maxOutputTokens,
    cacheKey: `${activation.conversationId}:summary`,
  };
}
