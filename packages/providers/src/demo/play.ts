import type { Clock, ModelEvent, ModelRequest, ProviderCallId, ProviderFailure } from "@chartroom/domain";
import type { Act, Pass } from "./pass.ts";

const PASSING = new Set(["rateLimit", "overloaded", "timeout", "transport", "server", "interrupted"]);

export interface PlayInput {
  readonly pass: Pass;
  readonly request: ModelRequest;
  readonly clock: Clock;
  /** Between two pieces (ms). */
  readonly paceMs: number;
  readonly signal: AbortSignal;
}

/** Plays a pass as a model would stream it: in small pieces, with a pause before each. */
export async function* play(input: PlayInput): AsyncGenerator<readonly ModelEvent[]> {
  const { pass, request, signal } = input;
  let calls = 0;
  let output = 0;
  for (const act of pass) {
    for (const batch of batchesOf(act, calls)) {
      await pause(input, act.type === "wait" ? act.ms : input.paceMs);
      if (signal.aborted)
        return yield [{ type: "failed", failure: { kind: "aborted", message: "Aborted.", retryable: false } }];
      output += batch.length;
      if (batch.length > 0) yield batch;
    }
    if (act.type === "call") calls++;
    if (act.type === "fail") return yield [{ type: "failed", failure: failure(act) }];
  }
  const usage = { inputTokens: inputTokens(request), outputTokens: output, cacheReadTokens: 0 };
  const reason = calls > 0 ? "toolCalls" : "stop";
  yield [
    { type: "usage", usage },
    { type: "finished", reason, raw: reason },
  ];
}

function batchesOf(act: Act, index: number): readonly (readonly ModelEvent[])[] {
  switch (act.type) {
    case "say":
      return words(act.text).map((text) => [{ type: "text", text }]);
    case "think":
      return [...words(act.text).map((text): ModelEvent[] => [{ type: "thinking", text }]), [{ type: "thinkingDone" }]];
    case "call": {
      // the same id in every pass, as some vendors do
      const open: ModelEvent = { type: "call", index, providerId: `call_${index}` as ProviderCallId, name: act.name };
      const pieces = act.arguments.match(/[\s\S]{1,24}/gu) ?? [];
      return [
        [open],
        ...pieces.map((text): ModelEvent[] => [{ type: "callArguments", index, text }]),
        [{ type: "callDone", index }],
      ];
    }
    case "wait":
      return [[]];
    case "fail":
      return [];
  }
}

/** Pieces of a few words each, white space included. */
function words(text: string): readonly string[] {
  return text.match(/(?:\s*\S+){1,3}\s*/g) ?? (text === "" ? [] : [text]);
}

function failure({ kind, message }: Extract<Act, { readonly type: "fail" }>): ProviderFailure {
  return { kind, message, retryable: PASSING.has(kind) };
}

/** A guess, four characters to a token. */
function inputTokens({ system, messages, tools }: ModelRequest): number {
  return Math.ceil((system.length + JSON.stringify(messages).length + JSON.stringify(tools).length) / 4);
}

/** Waits, or not any longer once the signal is aborted. */
function pause({ clock, signal }: PlayInput, ms: number): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const over = (): void => {
      signal.removeEventListener("abort", over);
      clock.clearTimeout(timer);
      resolve();
    };
    const timer = clock.setTimeout(over, ms);
    signal.addEventListener("abort", over, { once: true });
  });
}
