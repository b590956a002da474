import { modelCallId, openCalls, type Projection, toolCallId } from "@chartroom/history";
import { retryDecision, streamStep, type StepOutcome, type StepSink } from "@chartroom/run";
import type { AssistantRecord, FailureCode, ModelCallRow, ModelRequest, ProviderFailure } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { Watched } from "../history/cache-watch.ts";
import { compiledOf, compileRequest, ensureCompiled } from "../history/compile.ts";
import { codeOf, detailOf } from "../failures.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { learnWindow } from "../history/learn-window.ts";
import type { PortCall } from "./port.ts";

/** One provider call. Its deltas go to the output log; the chart hears how it ended. */
export async function streamModel(call: PortCall): Promise<void> {
  const { run } = call;
  const task = passModel(call);
  run.work = task.then(
    () => undefined,
    () => undefined,
  );
  await task;
}

async function passModel({ activation, run, step, signal, send }: PortCall): Promise<void> {
  const { clock, entropy, settings } = activation.deps;
  const { runId } = run.row;
  if (!(await ensureCompiled(activation, run, signal)))
    return send({ type: "model.failed", runId, code: "MODEL_NOT_FOUND", retryable: false, retryAfterMs: 0 });
  const { provider, model } = compiledOf(run);
  const startedAt = clock.now();
  const attempt = activation.context.attempt + 1;
  const callId = modelCallId(runId, step, attempt);
  const standing = openAnswer(activation);
  if (standing) {
    run.pending = { record: standing, modelCallId: callId, stands: true };
    return send({ type: "model.toolCalls", runId, calls: standing.calls.length });
  }
  await activation.window.recall(activation, activation.cache);
  const trigger = activation.window.trigger(activation.history.view, compiledOf(run));
  if (trigger.kind === "tooLarge") {
    run.failureDetail = tooLarge;
    return send({ type: "model.failed", runId, code: "CONTEXT_TOO_LONG", retryable: false, retryAfterMs: 0 });
  }
  if (trigger.kind === "compact" && !activation.context.compacted) return send({ type: "model.overflowed", runId });
  const { request, projection } = await compileRequest(activation, run);
  const watched = await watchCache(activation, run, step, request, projection);
  const sink = runSink(activation, run);
  let calls = 0;
  const outcome = await streamStep({
    provider,
    request,
    limits: settings.model,
    signal,
    clock,
    sink,
    newCallId: () => toolCallId(runId, step, calls++),
    modelCallId: callId,
    step,
  });
  const row = (ended: ModelCallRow["outcome"], failureCode?: FailureCode): ModelCallRow => ({
    modelCallId: callId,
    runId,
    step,
    modelId: model.id,
    usage: outcome.usage,
    startedAt,
    endedAt: clock.now(),
    outcome: ended,
    ...(failureCode ? { failureCode } : {}),
    ...(watched?.report ? { prefix: watched.report } : {}),
    ...(watched ? { mark: watched.mark } : {}),
  });
  run.shown = undefined;
  run.addUsage(outcome.usage);
  if (outcome.kind === "completed" || outcome.kind === "toolCalls")
    activation.window.measure(activation.history.view, outcome.usage);
  activation.deps.events({
    type: "step.ended",
    conversationId: activation.conversationId,
    runId,
    step,
    usage: outcome.usage,
    durationMs: clock.now() - startedAt,
    outcome: outcome.kind,
  });
  switch (outcome.kind) {
    case "toolCalls":
      run.pend(outcome.record, row("toolCalls"));
      return send({ type: "model.toolCalls", runId, calls: outcome.record.calls.length });
    case "completed":
      run.pend(outcome.record, row("completed"));
      return send({ type: "model.completed", runId });
    case "aborted":
      run.pend(outcome.partial, row("aborted"));
      return;
    case "outputLimit":
      run.pend(outcome.partial, row("failed", "MODEL_OUTPUT_LIMIT"));
      return send({ type: "model.failed", runId, code: "MODEL_OUTPUT_LIMIT", retryable: false, retryAfterMs: 0 });
    case "failed": {
      const { failure } = outcome;
      run.pend(outcome.partial, row("failed", codeOf(failure)));
      run.failureDetail = detailOf(failure);
      if (failure.kind === "overflow") learnWindow(activation, run, failure);
      if (failure.kind === "overflow" && !outcome.shown) return send({ type: "model.overflowed", runId });
      const retry = decideRetry(failure, attempt, outcome, activation, () => entropy.random());
      return send({
        type: "model.failed",
        runId,
        code: codeOf(failure),
        retryable: retry.retry,
        retryAfterMs: retry.retry ? retry.afterMs : 0,
      });
    }
  }
}

/** The answer with open calls in which a state ends that another server wrote: the Step goes on with those calls. */
function openAnswer({ history }: Activation): AssistantRecord | undefined {
  const { messages } = history.view;
  const calls = openCalls(messages);
  const content = messages.findLast(({ role }) => role === "assistant")?.content;
  return calls.length > 0 && content?.kind === "assistant" ? { ...content.record, calls } : undefined;
}

/** Notes what of the last call of the branch the provider's cache still holds, and what was healed on the way to this one. */
async function watchCache(
  activation: Activation,
  run: LiveRun,
  step: number,
  { system, tools, messages, model }: ModelRequest,
  projection: Projection,
): Promise<Watched | undefined> {
  const { problems } = projection;
  const { cache, history, deps, conversationId } = activation;
  const { runId } = run.row;
  const { head, summary } = history.view;
  if (head === undefined) return undefined;
  const watched = await cache.compare(activation, head, {
    ...{ system, tools, messages, model: model.id },
    get sources() {
      return projection.sources;
    },
    ...(summary ? { summary } : {}),
  });
  const { brokenBy, tokensLost = 0, message } = watched.report ?? {};
  if (brokenBy) {
    deps.events({ type: "prefix.broken", conversationId, runId, cause: brokenBy, tokensLost });
    run.trace[`step.${step}.prefix.brokenBy`] = brokenBy;
    run.trace[`step.${step}.prefix.tokensLost`] = tokensLost;
    if (message) run.trace[`step.${step}.prefix.message`] = message;
  }
  if (problems.length > run.healed) {
    const kinds = [...new Set(problems.map(({ kind }) => kind))].toSorted();
    deps.events({ type: "history.healed", conversationId, runId, kinds, count: problems.length });
    run.trace["history.healed"] = problems.length;
    run.healed = problems.length;
  }
  return watched;
}

const tooLarge = "One message alone is larger than the model's window. Shorten it or attach less.";

function decideRetry(
  failure: ProviderFailure,
  attempt: number,
  outcome: Extract<StepOutcome, { kind: "failed" }>,
  activation: Activation,
  random: () => number,
) {
  const { settings } = activation.deps;
  return retryDecision(
    failure,
    attempt,
    outcome.shown,
    {
      maxAttempts: settings.maxAttempts,
      baseMs: settings.retryBaseMs,
      maxMs: settings.retryMaxMs,
      maxRetryAfterMs: settings.retryMaxMs,
    },
    random,
  );
}

function runSink(activation: Activation, run: LiveRun): StepSink {
  const { clock, codec, settings, tools } = activation.deps;
  const { scope } = compiledOf(run);
  const update = (bytes: Uint8Array): void => activation.append(run, "update", bytes);
  let flushedAt = clock.now();
  return {
    text: (text) => update(codec.update({ kind: "text", text })),
    thinking: (text) => update(codec.update({ kind: "thinking", text })),
    thinkingCompleted: (durationMs) => update(codec.update({ kind: "thinkingCompleted", durationMs })),
    outputTokens: (tokens) => update(codec.update({ kind: "tokens", tokens })),
    callOpened: (call) => {
      const card = tools.card(scope, call);
      run.cards.set(call.id, card);
      for (const frame of card.opened()) update(frame);
    },
    callArguments: (call, soFar, delta) => {
      for (const frame of run.cards.get(call.id)?.argumentsGrew(soFar, delta) ?? []) update(frame);
    },
    flush: (partial) => {
      run.shown = partial;
      const now = clock.now();
      if (now - flushedAt < settings.flushPartialMs) return;
      flushedAt = now;
      const record = partial();
      // shown text survives a kill; the stream does not wait for the write
      if (record.blocks.length > 0)
        activation.beside(
          "shown text",
          activation.commit(() => ({ runsChanged: [{ runId: run.row.runId, partial: record }] })),
        );
    },
  };
}
