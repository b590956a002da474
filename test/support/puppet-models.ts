import type {
  ModelDirectory,
  ModelEvent,
  ModelId,
  ModelInfo,
  ModelProvider,
  ModelRequest,
  ProviderCallId,
  ProviderFailureKind,
} from "@chartroom/domain";

/** One model call, under the hand of the test until it has ended. */
export interface PuppetCall {
  readonly request: ModelRequest;
  /** A call without tools writes a summary. */
  readonly summary: boolean;
  readonly aborted: boolean;
  readonly ended: boolean;
  /** Text was said, or a tool call was opened. */
  readonly shown: boolean;
  say(text: string): void;
  finish(text?: string): void;
  /** Asks for tools; the provider's own ids are the same in every Step, as with vendors that count from 0. */
  ask(...calls: readonly { readonly name: string; readonly args: unknown }[]): void;
  fail(kind: ProviderFailureKind, retryable: boolean): void;
}

export interface PuppetModels {
  readonly directory: ModelDirectory;
  /** All calls, oldest first. */
  readonly calls: readonly PuppetCall[];
  /** Calls that have not ended. */
  readonly open: readonly PuppetCall[];
  /** From now on every call, also one that is open, is answered so; without an answer they wait for the test again. */
  auto(answer?: (call: PuppetCall) => void): void;
  /** Looks at each request as it comes. */
  onRequest: ((request: ModelRequest) => void) | undefined;
}

/** A model whose every call waits for what the test lets it say. */
export function puppetModels(): PuppetModels {
  const calls: PuppetCall[] = [];
  let answer: ((call: PuppetCall) => void) | undefined;
  const model: ModelInfo = {
    id: "demo-model" as ModelId,
    displayName: "Puppet",
    provider: "puppet",
    upstreamModel: "puppet",
    contextWindow: 200_000,
    maxOutputTokens: 8_000,
    supportsImages: true,
    supportsThinking: true,
    aliases: ["default"],
  };
  const provider: ModelProvider = {
    id: "puppet",
    stream(request, _limits, signal) {
      models.onRequest?.(request);
      const { call, batches } = puppetCall(request, signal);
      calls.push(call);
      answer?.(call);
      return batches;
    },
  };
  const models: PuppetModels = {
    directory: {
      resolve: (asked) =>
        asked === model.id || model.aliases.includes(asked) || asked === "" ? { model, provider } : undefined,
      list: () => [model],
      defaultModel: model,
    },
    calls,
    get open() {
      return calls.filter(({ ended }) => !ended);
    },
    auto(next) {
      answer = next;
      if (next) for (const call of models.open) next(call);
    },
    onRequest: undefined,
  };
  return models;
}

function puppetCall(
  request: ModelRequest,
  signal: AbortSignal,
): { readonly call: PuppetCall; readonly batches: AsyncIterable<readonly ModelEvent[]> } {
  const queue: (readonly ModelEvent[])[] = [];
  let wake: () => void = () => undefined;
  let ended = false;
  let aborted = false;
  let shown = false;
  const push = (...events: readonly ModelEvent[]): void => {
    if (ended) return;
    ended = events.some(({ type }) => type === "finished" || type === "failed");
    shown ||= events.some(({ type }) => type === "text" || type === "call");
    queue.push(events);
    wake();
  };
  const abort = (): void => {
    aborted = true;
    push({ type: "failed", failure: { kind: "aborted", message: "aborted", retryable: false } });
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort);
  return {
    call: {
      request,
      summary: request.tools.length === 0,
      get aborted() {
        return aborted;
      },
      get ended() {
        return ended;
      },
      get shown() {
        return shown;
      },
      say: (text) => push({ type: "text", text }),
      finish: (text) =>
        push(
          ...(text === undefined ? [] : [{ type: "text", text } as const]),
          { type: "usage", usage: { inputTokens: 100, outputTokens: 20 } },
          { type: "finished", reason: "stop", raw: "stop" },
        ),
      ask: (...asked) =>
        push(
          ...asked.flatMap(({ name, args }, index): readonly ModelEvent[] => [
            { type: "call", index, providerId: `call_${index}` as ProviderCallId, name },
            { type: "callArguments", index, text: JSON.stringify(args) },
            { type: "callDone", index },
          ]),
          { type: "finished", reason: "toolCalls", raw: "tool_calls" },
        ),
      fail: (kind, retryable) => push({ type: "failed", failure: { kind, message: "scripted", retryable } }),
    },
    batches: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          const batch = queue.shift();
          if (batch) {
            yield batch;
            if (batch.some(({ type }) => type === "finished" || type === "failed")) return;
          } else await new Promise<void>((resume) => (wake = resume));
        }
      },
    },
  };
}
