import type { InterruptReason, ToolCallRecord, ToolEffect, ToolExecution, ToolResultRecord } from "@chartroom/domain";
import { completedFrame, deltaFrame, execFrame, startedFrame, toolCall, type CallIdentity } from "../cards/frames.ts";
import { execClientMessage, type agent } from "../wire.ts";
import { buildResult } from "./result.ts";
import { cardOf, storedCall } from "./stored.ts";
import type { Outcome, Request, Step, ToolProgram } from "./program.ts";
import type { CallCards } from "../native/tool.ts";
import { interruptedText } from "./texts.ts";

/**
 * How long a result may follow a `stream_close`. Clients send the close as an acknowledgement ahead of the result of a
 * one-result exec (wire section 5.1), so a close alone is no failure yet.
 */
export const CLOSE_GRACE_MS = 1500;

const UNUSABLE = "The server could not use what the client answered.";

/** What the execution must know of the tool besides its program. */
export interface ExecutionOf {
  readonly changes: boolean;
  readonly cards: CallCards;
}

/**
 * Carries a program out: names its requests, settles exactly once, and lets nothing through afterwards. Answers to
 * requests that are not open (late, repeated, of a call that has settled) give no effect.
 */
export function createExecution(
  record: ToolCallRecord,
  identity: CallIdentity,
  program: ToolProgram,
  { changes, cards }: ExecutionOf,
): ToolExecution {
  const open = new Map<string, Request>();
  /** Deadline key → request whose close it waits for. */
  const closes = new Map<string, string>();
  const hooks: agent.HookAdditionalContext[] = [];
  let closeCount = 0;
  let begun = false;
  let settled = false;
  let startedAtMs: number | undefined;

  const settle = (outcome: Outcome, atMs: number, interrupted?: InterruptReason): ToolEffect[] => {
    settled = true;
    open.clear();
    closes.clear();
    const built = buildResult(record, outcome, { hooks, startedAtMs, completedAtMs: atMs, interrupted });
    const completed = completedFrame(identity, built.call);
    return [{ type: "settled", result: built.result, completed, blobs: built.blobs }];
  };

  const send = (requests: readonly Request[]): ToolEffect[] =>
    requests.map((request) => {
      open.set(request.key, request);
      return {
        type: "exec",
        key: request.key,
        encode: (execId) => execFrame(execId, identity.callId, request.args),
      };
    });

  const closeRequest = (key: string): void => {
    open.delete(key);
    for (const [deadline, waiting] of closes) if (waiting === key) closes.delete(deadline);
  };

  /** A step of the program about one open request; what it cannot digest ends the call, never the Run. */
  const advance = (key: string, atMs: number, run: () => Step): ToolEffect[] => {
    let step: Step;
    try {
      step = run();
    } catch {
      return settle(unusable(), atMs);
    }
    if (step.kind === "stay") {
      hooks.push(...(step.hooks ?? []));
      const updates = (step.deltas ?? []).map((delta): ToolEffect => ({
        type: "update",
        frame: deltaFrame(identity, delta),
      }));
      return [{ type: "renew" }, ...updates];
    }
    closeRequest(key);
    if (step.kind === "done") return settle(step.outcome, atMs);
    return [{ type: "renew" }, ...(step.kind === "ask" ? send(step.requests) : [])];
  };

  const unusable = (): Outcome => ({ text: UNUSABLE, isError: true, tool: cards.failed(UNUSABLE) });

  return {
    callId: identity.callId,
    ...(program.exclusive !== undefined && { exclusive: program.exclusive }),
    begin(atMs) {
      if (begun || settled) return [];
      begun = true;
      startedAtMs = atMs;
      const started: ToolEffect = { type: "update", frame: startedFrame(identity, program.card, atMs) };
      const step = program.start(atMs);
      return [started, ...(step.kind === "done" ? settle(step.outcome, atMs) : send(step.requests))];
    },
    reissue() {
      if (!begun || settled) return [];
      const requests = program.reissue([...open.values()]);
      open.clear();
      closes.clear();
      return send(requests);
    },
    reply(key, reply, atMs) {
      if (settled || !open.has(key)) return [];
      return advance(key, atMs, () => {
        const message = execClientMessage(reply);
        hooks.push(...message.hookAdditionalContexts);
        return program.answer(key, message.message, atMs);
      });
    },
    control(key, control, atMs) {
      if (settled || !open.has(key)) return [];
      switch (control.kind) {
        case "heartbeat":
          return [{ type: "renew" }];
        case "throw":
          return advance(key, atMs, () => program.failed(key, control.message || "The client gave no reason.", atMs));
        case "close": {
          const deadline = `${key}/close-${(closeCount += 1)}`;
          closes.set(deadline, key);
          return [{ type: "deadline", key: deadline, ms: CLOSE_GRACE_MS }];
        }
      }
    },
    // no program of this set asks the user
    answer: () => [],
    expire(deadline, atMs) {
      const key = closes.get(deadline);
      if (settled || key === undefined) return [];
      return advance(key, atMs, () => program.failed(key, "The client closed the call without a result.", atMs));
    },
    interrupt(reason, atMs) {
      if (settled) return [];
      const aborts = [...open.keys()].map((key): ToolEffect => ({ type: "abort", key }));
      const outcome = program.interrupted(reason, interruptedText(reason, changes && begun), atMs);
      return [...aborts, ...settle(outcome, atMs, reason)];
    },
    accept(result: ToolResultRecord, atMs) {
      if (settled) return [];
      settled = true;
      // whoever gave the result elsewhere may have the request open still
      const aborts = [...open.keys()].map((key): ToolEffect => ({ type: "abort", key }));
      open.clear();
      closes.clear();
      const call =
        storedCall(result) ?? toolCall(cardOf(result, cards), identity.callId, { startedAtMs, completedAtMs: atMs });
      return [...aborts, { type: "settled", result, completed: completedFrame(identity, call), blobs: [] }];
    },
  };
}
