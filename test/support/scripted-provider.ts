import type {
  ModelDirectory,
  ModelEvent,
  ModelId,
  ModelInfo,
  ModelProvider,
  ModelRequest,
  ProviderCallId,
} from "@chartroom/domain";

/** What one model call answers: batches of events, with the chance to wait in between. */
export type Answer = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<readonly ModelEvent[]>;

export interface ScriptedModels {
  readonly directory: ModelDirectory;
  /** The requests that came, oldest first. */
  readonly requests: ModelRequest[];
  /** Puts answers behind those that wait; the last one is given again and again. */
  answer(...answers: readonly Answer[]): void;
}

/** A model whose answers a test writes. */
export function scriptedModels(...first: readonly Answer[]): ScriptedModels {
  const queue = [...first];
  const requests: ModelRequest[] = [];
  const model: ModelInfo = {
    id: "demo-model" as ModelId,
    displayName: "Scripted",
    provider: "scripted",
    upstreamModel: "scripted",
    contextWindow: 200_000,
    maxOutputTokens: 8_000,
    supportsImages: true,
    supportsThinking: true,
    aliases: ["default"],
  };
  const provider: ModelProvider = {
    id: "scripted",
    stream(request, _limits, signal) {
      requests.push(request);
      const answer = queue.length > 1 ? queue.shift() : queue[0];
      return (answer ?? say("(nothing scripted)"))(request, signal);
    },
  };
  return {
    directory: {
      resolve: (asked) =>
        asked === model.id || model.aliases.includes(asked) || asked === "" ? { model, provider } : undefined,
      list: () => [model],
      defaultModel: model,
    },
    requests,
    answer: (...answers) => void queue.splice(0, queue.length, ...answers),
  };
}

/** Says the pieces one by one and ends. */
export function say(...pieces: readonly string[]): Answer {
  return async function* () {
    for (const text of pieces) yield [{ type: "text", text }];
    yield [
      { type: "usage", usage: { inputTokens: 100, outputTokens: 20 } },
      { type: "finished", reason: "stop", raw: "stop" },
    ];
  };
}

/** Asks for tools. */
export function call(
  ...calls: readonly { readonly name: string; readonly args: unknown; readonly id?: string }[]
): Answer {
  return async function* () {
    for (const [index, { name, args, id }] of calls.entries()) {
      yield [{ type: "call", index, providerId: (id ?? `call_${index}`) as ProviderCallId, name }];
      yield [
        { type: "callArguments", index, text: typeof args === "string" ? args : JSON.stringify(args) },
        { type: "callDone", index },
      ];
    }
    yield [{ type: "finished", reason: "toolCalls", raw: "tool_calls" }];
  };
}

/** Says the pieces, then waits until it is aborted or `gate` opens, then goes on with `after`. */
export function hang(pieces: readonly string[], gate?: Promise<void>, after?: Answer): Answer {
  return async function* (request, signal) {
    for (const text of pieces) yield [{ type: "text", text }];
    const aborted = new Promise<"aborted">((resolve) => signal.addEventListener("abort", () => resolve("aborted")));
    const how = await Promise.race([aborted, ...(gate ? [gate] : [])]);
    if (how === "aborted")
      return yield [{ type: "failed", failure: { kind: "aborted", message: "aborted", retryable: false } }];
    if (after) yield* after(request, signal);
  };
}
