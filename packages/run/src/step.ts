import type {
  AssistantRecord,
  Clock,
  ModelCallId,
  ModelEvent,
  ModelLimits,
  ModelProvider,
  ModelRequest,
  ProviderFailure,
  ToolCallId,
  Usage,
} from "@chartroom/domain";
import { joinDeltas } from "./join.ts";
import { conclude, type StepOutcome, type StreamEnd } from "./outcome.ts";
import { StepRecord } from "./record.ts";
import type { StepSink } from "./sink.ts";
import { mergeUsage } from "./usage.ts";

export interface StepInput {
  readonly provider: ModelProvider;
  readonly request: ModelRequest;
  readonly limits: ModelLimits;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly sink: StepSink;
  /** A new internal id per call that the model opens. */
  readonly newCallId: () => ToolCallId;
  readonly modelCallId: ModelCallId;
  /** Number of the Step in its Run, from 1. */
  readonly step: number;
}

/**
 * One model call: forwards what comes to the sink and tells how it ended. Never rejects for what a provider does; a sink
 * that throws is the caller's own error and comes through. After an abort nothing more reaches the sink.
 */
export async function streamStep(input: StepInput): Promise<StepOutcome> {
  const { provider, request, limits, signal, sink } = input;
  const record = new StepRecord(input);
  const forward = new Forwarder(record, sink, input.clock);
  if (signal.aborted) return conclude(record, undefined, forward.usage, true);
  const stream = provider.stream(request, limits, signal)[Symbol.asyncIterator]();
  const partial = (): AssistantRecord => record.partial();
  let ended = false;
  try {
    while (forward.end === undefined) {
      let next: IteratorResult<readonly ModelEvent[]>;
      try {
        next = await stream.next();
      } catch {
        // a provider that throws breaks its contract; the Step still ends as a failure that a Run can tell
        next = { value: [{ type: "failed", failure: broken }] };
      }
      if (next.done === true) ended = true;
      if (next.done === true || signal.aborted) break;
      for (const event of joinDeltas(next.value)) forward.event(event);
      const held = sink.flush(partial);
      if (held) await held;
    }
  } finally {
    // the provider closes its connection when its reader leaves
    if (!ended) await stream.return?.();
  }
  return conclude(record, forward.end, forward.usage, signal.aborted && forward.end?.type !== "finished");
}

const broken: ProviderFailure = { kind: "server", message: "The provider adapter failed.", retryable: false };

/** Turns the provider's events into calls of the sink while the record grows. */
class Forwarder {
  readonly #record: StepRecord;
  readonly #sink: StepSink;
  readonly #clock: Clock;
  #thinkingSince: number | undefined;
  usage: Usage = {};
  end: StreamEnd;

  constructor(record: StepRecord, sink: StepSink, clock: Clock) {
    this.#record = record;
    this.#sink = sink;
    this.#clock = clock;
  }

  event(event: ModelEvent): void {
    if (this.end !== undefined) return;
    switch (event.type) {
      case "text":
        if (event.text === "") return;
        this.#endThinking();
        this.#record.text(event.text);
        return this.#sink.text(event.text);
      case "thinking":
        if (event.text === "") return;
        this.#thinkingSince ??= this.#clock.now();
        this.#record.thinking(event.text);
        return this.#sink.thinking(event.text);
      case "thinkingDone":
        this.#record.thinkingDone(event.replay);
        return this.#reportThinking();
      case "call": {
        this.#endThinking();
        const call = this.#record.open(event.index, event.providerId, event.name);
        if (call) this.#sink.callOpened(call);
        return;
      }
      case "callArguments": {
        if (event.text === "") return;
        const grown = this.#record.argumentText(event.index, event.text);
        if (grown) this.#sink.callArguments(grown.call, grown.soFar, event.text);
        return;
      }
      case "callDone":
        return;
      case "usage":
        return this.#count(event.usage);
      case "finished":
      case "failed":
        this.#endThinking();
        this.end = event;
    }
  }

  /** A vendor that does not say so ends its thinking by saying something else. */
  #endThinking(): void {
    this.#record.thinkingDone(undefined);
    this.#reportThinking();
  }

  #reportThinking(): void {
    if (this.#thinkingSince === undefined) return;
    this.#sink.thinkingCompleted(Math.max(0, this.#clock.now() - this.#thinkingSince));
    this.#thinkingSince = undefined;
  }

  #count(usage: Usage): void {
    const before = this.usage.outputTokens ?? 0;
    this.usage = mergeUsage(this.usage, usage);
    const more = (this.usage.outputTokens ?? 0) - before;
    if (more > 0) this.#sink.outputTokens?.(more);
  }
}
