import { transcript } from "@chartroom/history";
import { compactionPrompt } from "@chartroom/prompting";
import { complete } from "@chartroom/run";
import type { ModelRequest } from "@chartroom/domain";
import type { Activation } from "../activation.ts";
import { compiledOf } from "../compile.ts";
import { codeOf, detailOf } from "../failures.ts";
import type { LiveRun } from "../live-run.ts";
import type { PortCall } from "./port.ts";

/** A model call without tools writes the summary; the old head stays until it is committed. */
export async function summarize({ activation, run, signal, send }: PortCall): Promise<void> {
  const { codec, settings } = activation.deps;
  const { runId } = run.row;
  const { provider } = compiledOf(run);
  activation.append(run, "update", codec.update({ kind: "summaryStarted" }));
  const completion = await complete({
    provider,
    request: summaryRequest(activation, run),
    limits: settings.model,
    signal,
  });
  if (signal.aborted) return;
  run.addUsage(completion.usage);
  const lacks = !completion.ok || completion.truncated || completion.text.trim() === "";
  if (lacks) activation.window.compactionFailed(activation.history);
  if (!completion.ok) {
    run.failureDetail = detailOf(completion.failure);
    return send({ type: "compaction.failed", runId, code: codeOf(completion.failure) });
  }
  if (lacks) return send({ type: "compaction.failed", runId, code: "MODEL_OUTPUT_LIMIT" });
  run.summary = completion.text;
  activation.append(run, "update", codec.update({ kind: "summary", text: completion.text }));
  send({ type: "compaction.summarized", runId });
}

/** The conversation as text in one user message: a history that the window refused cannot be sent as it is. */
function summaryRequest(activation: Activation, run: LiveRun): ModelRequest {
  const { model } = compiledOf(run);
  const room = Math.max(1_000, model.contextWindow - model.maxOutputTokens - 2_000);
  const said = transcript(activation.history.view.messages, Math.floor(room * 0.8));
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
