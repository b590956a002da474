import type {
  Clock,
  ModelCallId,
  ModelEvent,
  ModelInfo,
  ModelLimits,
  ModelProvider,
  ModelRequest,
  ProviderCallId,
  StreamedCall,
  ToolCallId,
} from "@chartroom/domain";
import type { StepInput, StepSink } from "../src/index.ts";

export const model: ModelInfo = {
  id: "m" as ModelInfo["id"],
  displayName: "M",
  provider: "p",
  upstreamModel: "m-1",
  contextWindow: 1000,
  maxOutputTokens: 100,
  supportsImages: false,
  supportsThinking: true,
  aliases: [],
};
export const request: ModelRequest = {
  model,
  system: "s",
  tools: [],
  messages: [{ role: "user", parts: [{ type: "text", text: "hello" }] }],
  maxOutputTokens: 100,
  cacheKey: "c",
};
export const limits: ModelLimits = { idleMs: 1000, headersMs: 1000, totalMs: 10_000 };

type Batch = readonly ModelEvent[];

/** Yields the batches of a script; `close` is called when its reader leaves early. */
export function scripted(
  batches: readonly (Batch | (() => Batch | Promise<Batch>))[],
  close: () => void = () => {},
): ModelProvider {
  return {
    id: "scripted",
    async *stream() {
      let ended = false;
      try {
        for (const batch of batches) yield typeof batch === "function" ? await batch() : batch;
        ended = true;
      } finally {
        if (!ended) close();
      }
    },
  };
}

export const text = (value: string): ModelEvent => ({ type: "text", text: value });
export const thinking = (value: string): ModelEvent => ({ type: "thinking", text: value });
export const call = (index: number, providerId: string, name: string): ModelEvent => ({
  type: "call",
  index,
  providerId: providerId as ProviderCallId,
  name,
});
export const args = (index: number, value: string): ModelEvent => ({ type: "callArguments", index, text: value });
export const finished = (reason: "stop" | "toolCalls" | "length" | "refusal" | "contentFilter"): ModelEvent => ({
  type: "finished",
  reason,
  raw: reason,
});
export const failed = (kind: "server" | "aborted" | "overflow"): ModelEvent => ({
  type: "failed",
  failure: { kind, message: "it failed", retryable: kind === "server" },
});

/** A clock that moves only when told to. */
export function handClock(): Clock & { ms: number } {
  return {
    ms: 0,
    now() {
      return this.ms;
    },
    setTimeout() {
      throw new Error("a Step sets no timer");
    },
    clearTimeout() {},
  };
}

/** A sink that writes down what it is told, one line each. */
export function recordingSink(): StepSink & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    lines,
    text: (value) => void lines.push(`text ${value}`),
    thinking: (value) => void lines.push(`thinking ${value}`),
    thinkingCompleted: (ms) => void lines.push(`thought ${ms}`),
    callOpened: (opened: StreamedCall) => void lines.push(`call ${opened.id} ${opened.name} ${opened.modelCallId}`),
    callArguments: (of, soFar, delta) => void lines.push(`arguments ${of.id} ${soFar} (+${delta})`),
    outputTokens: (tokens) => void lines.push(`tokens ${tokens}`),
    flush: () => void lines.push("flush"),
  };
}

export function input(provider: ModelProvider, rest: Partial<StepInput> = {}): StepInput {
  let calls = 0;
  return {
    provider,
    request,
    limits,
    signal: new AbortController().signal,
    clock: handClock(),
    sink: recordingSink(),
    newCallId: () => `t${++calls}` as ToolCallId,
    modelCallId: "mc" as ModelCallId,
    step: 1,
    ...rest,
  };
}
