import type { AgentServerMessage, InteractionUpdate } from "@chartroom/protocols/agent";
import { type ClientFailure, lost, stalled } from "../transport/failure.ts";
import type { SentMessage, TurnEvent } from "./events.ts";
import { atCheckpoint, atReconnect, judge, judgeTokens, uncovered } from "./replay.ts";
import type { Step, TurnEffect, TurnInput, TurnLimits, TurnState } from "./state.ts";
import { eventOf } from "./updates.ts";

export interface StepPorts {
  readonly limits: TurnLimits;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

/** The whole conduct of a turn on the client's side: from what happens to what must be done. Pure. */
export function step(state: TurnState, input: TurnInput, ports: StepPorts): Step {
  if (state.phase === "done") return { state, effects: [] };
  switch (input.type) {
    case "open":
      return open(state, ports);
    case "requested":
      return { state: { ...state, live: true }, effects: state.pending.map(sayNow) };
    case "opened":
      return { state: heard(state, ports), effects: [] };
    case "message":
      return message(heard(state, ports), input);
    case "ended":
      return ended(state, ports);
    case "failed":
      return failed(state, input.failure, ports);
    case "tick":
      return tick(state, ports);
    case "say":
      return say(state, input.message);
    case "cancel":
      return cancel(state, input.reason, ports);
    case "leave":
      return finish(state, "cancelled");
  }
}

function open(state: TurnState, { now }: StepPorts): Step {
  if (state.phase !== "waiting") return { state, effects: [] };
  const opening: TurnState = { ...state, phase: "opening", attempts: state.attempts + 1, since: now, advised: false };
  return { state: opening, effects: [{ type: "open", from: state.resumable ? "resume" : "message" }] };
}

function heard(state: TurnState, { now }: StepPorts): TurnState {
  const phase = state.phase === "opening" ? "streaming" : state.phase;
  // heartbeats do not put off an end that is due
  const since = phase === "ending" || state.cancelling ? state.since : now;
  return { ...state, phase, reached: true, since, advised: false };
}

function message(state: TurnState, input: Extract<TurnInput, { type: "message" }>): Step {
  const { message: body } = input.message;
  switch (body.case) {
    case "interactionUpdate":
      return update(state, body.value);
    case "conversationCheckpointUpdate":
      return checkpoint(state, input.message, input.checkpoint ?? new Uint8Array());
    case "execServerMessage":
      return { state: active(state), effects: [{ type: "exec", request: body.value }] };
    case "execServerControlMessage": {
      const { message: control } = body.value;
      return { state, effects: control.case === "abort" ? [{ type: "abortExec", id: control.value.id }] : [] };
    }
    case "kvServerMessage":
      return { state, effects: [{ type: "kv", request: body.value }] };
    case "interactionQuery":
      return { state: active(state), effects: [{ type: "query", query: body.value }] };
    case undefined:
      return { state, effects: [] };
  }
}

/** A follow-up that was queued on this stream begins after the end of the turn before it (lifecycle, section 5). */
function active(state: TurnState): TurnState {
  return state.phase === "ending" ? { ...state, phase: "streaming" } : state;
}

function update(state: TurnState, value: InteractionUpdate): Step {
  if (value.message.case === "tokenDelta") {
    const { tokens: more, replay } = judgeTokens(state.replay, value.message.value.tokens);
    if (more === 0) return { state: { ...state, replay }, effects: [] };
    const tokens = state.tokens + more;
    return { state: { ...state, tokens, replay }, effects: [emit({ type: "tokens", output: tokens })] };
  }
  const event = eventOf(value);
  if (event === undefined) return { state, effects: [] };
  if (event.type === "turn.ended") {
    const { type: _type, ...usage } = event;
    return { state: { ...state, phase: "ending", usage }, effects: [emit(event)] };
  }
  const judged = judge(state.replay, event);
  let next: TurnState = { ...active(state), replay: judged.replay };
  const effects: TurnEffect[] = [];
  if (judged.diverged) {
    next = { ...next, text: next.text.slice(0, next.text.length - uncovered(state.replay).text.length) };
    effects.push(emit({ type: "restarted" }));
  }
  if (event.type === "tool.completed") effects.push({ type: "settleExec", toolCallId: event.toolCallId });
  if (event.type === "message.appended") {
    next = { ...next, pending: next.pending.filter(({ messageId }) => messageId !== event.messageId) };
  }
  if (judged.event === undefined) return { state: next, effects };
  if (judged.event.type === "text") next = { ...next, text: next.text + judged.event.text };
  return { state: next, effects: [...effects, emit(judged.event)] };
}

function checkpoint(state: TurnState, { message: body }: AgentServerMessage, bytes: Uint8Array): Step {
  if (body.case !== "conversationCheckpointUpdate") return { state, effects: [] };
  // after the end of the turn there is nothing left to resume (wire section 11)
  const resumable = state.phase !== "ending";
  const { usedTokens = 0, maxTokens = 0 } = body.value.tokenDetails ?? {};
  const effects: TurnEffect[] = [
    { type: "checkpoint", bytes, state: body.value, resumable },
    emit({ type: "checkpoint", usedTokens, maxTokens }),
  ];
  if (!resumable) return { state, effects };
  const replay = atCheckpoint(state.replay, body.value.pendingToolCalls.length > 0);
  return { state: { ...state, resumable: true, failures: 0, replay }, effects };
}

function ended(state: TurnState, ports: StepPorts): Step {
  if (state.phase === "ending") return finish(state, "completed");
  return failed(state, lost("the stream ended before the turn"), ports);
}

function failed(state: TurnState, failure: ClientFailure, ports: StepPorts): Step {
  if (state.phase === "waiting") return { state, effects: [] };
  // the turn itself was complete; only the end of its stream got lost
  if (state.phase === "ending") return finish(state, "completed");
  if (state.cancelling) return finish(state, "cancelled");
  if (failure.code === "canceled") return finish(state, "cancelled", failure);
  const { limits } = ports;
  const allowed = state.reached ? limits.retries : Math.min(limits.retries, limits.connectRetries);
  if (!failure.retryable || state.attempts > allowed) return finish(state, "failed", failure);
  const delayMs = delayOf(state.failures, ports);
  const from = state.resumable ? "resume" : "message";
  const next: TurnState = {
    ...state,
    phase: "waiting",
    live: false,
    failures: state.failures + 1,
    since: ports.now,
    replay: atReconnect(state.replay),
  };
  const reason = failure.detail === "" ? failure.title : `${failure.title}: ${failure.detail}`;
  return {
    state: next,
    effects: [
      { type: "close" },
      emit({ type: "retry", attempt: state.attempts + 1, delayMs, from, reason }),
      { type: "wait", ms: delayMs },
    ],
  };
}

/** min(base · 2^n, max) plus up to a fifth by chance (wire section 11). */
export function delayOf(failures: number, { limits, random }: StepPorts): number {
  const delay = Math.min(limits.baseDelayMs * 2 ** Math.min(failures, 30), limits.maxDelayMs);
  return Math.round(delay * (1 + limits.jitter * random));
}

function tick(state: TurnState, ports: StepPorts): Step {
  const { limits, now } = ports;
  const silentMs = now - state.since;
  if (state.phase === "waiting") return { state, effects: [] };
  if (state.phase === "ending" && silentMs >= limits.endMs) return finish(state, "completed");
  if (state.cancelling && silentMs >= limits.cancelMs) return finish(state, "cancelled");
  if (silentMs >= limits.stallMs) return failed(state, stalled(silentMs), ports);
  if (silentMs < limits.adviseMs || state.advised) return { state, effects: [] };
  return { state: { ...state, advised: true }, effects: [emit({ type: "stalled", silentMs })] };
}

function say(state: TurnState, sent: SentMessage): Step {
  const next = { ...state, pending: [...state.pending, sent] };
  const effects: TurnEffect[] = [emit({ type: "message.sent", ...sent })];
  // while no stream is there, the message waits for it
  return { state: next, effects: state.live ? [...effects, sayNow(sent)] : effects };
}

function sayNow(message: SentMessage): TurnEffect {
  return { type: "say", message };
}

function cancel(state: TurnState, reason: string, { now }: StepPorts): Step {
  // nothing is open that could be told
  if (!state.live) return finish(state, "cancelled");
  if (state.cancelling) return { state, effects: [] };
  return {
    state: { ...state, cancelling: true, since: now },
    effects: [emit({ type: "cancelling" }), { type: "cancel", reason }],
  };
}

function finish(state: TurnState, outcome: "completed" | "failed" | "cancelled", error?: ClientFailure): Step {
  const { text, usage, attempts, pending } = state;
  const result = { outcome, text, usage, attempts, unsent: pending, ...(error === undefined ? {} : { error }) };
  return { state: { ...state, phase: "done" }, effects: [{ type: "close" }, { type: "finish", result }] };
}

function emit(event: TurnEvent): TurnEffect {
  return { type: "emit", event };
}
