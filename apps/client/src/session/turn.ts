import { create, fromBinary } from "@bufbuild/protobuf";
import type { Clock, Entropy, Timer } from "@chartroom/domain";
import { onlyPayload } from "@chartroom/protocol";
import {
  type AgentServerMessage,
  AgentServerMessageSchema,
  ConversationActionSchema,
  type KvServerMessage,
  type McpToolDefinition,
  type RequestContext,
} from "@chartroom/protocols/agent";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ClientMessage, Executions } from "../execution/executions.ts";
import type { Queries } from "../execution/queries.ts";
import type { BackgroundEnd } from "../shells/shells.ts";
import type { BlobStore } from "../store/blobs.ts";
import { serverFailure } from "../transport/failure.ts";
import type { Inbound, RunCall, RunStream, Transport } from "../transport/transport.ts";
import type { Conversation } from "./conversation.ts";
import { EventQueue } from "./event-queue.ts";
import type { SentMessage, TurnEvent, TurnResult } from "./events.ts";
import { answerKv } from "./kv.ts";
import { step } from "./reducer.ts";
import {
  backgroundCompletion,
  encodeMessage,
  injection,
  liveMessage,
  runRequest,
  type RunRequestParts,
  type TurnAction,
} from "./request.ts";
import { initialState, type TurnEffect, type TurnInput, type TurnLimits, type TurnState } from "./state.ts";

export interface TurnPorts {
  readonly transport: Transport;
  readonly conversation: Conversation;
  readonly executions: Executions;
  readonly queries: Queries;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly limits: TurnLimits;
  readonly heartbeatMs: number;
  readonly agentSessionId: string;
  tools(): readonly McpToolDefinition[];
  context(): Promise<RequestContext>;
}

export interface TurnOptions {
  readonly action: TurnAction;
  /** The first request id of the chain, when a turn of an earlier start of the client is taken up again. */
  readonly originalRequestId?: string;
  /** A checkpoint of this very turn is stored already. */
  readonly resumable?: boolean;
  readonly parent?: NonNullable<RunCall["parent"]>;
  readonly subagent?: NonNullable<RunRequestParts["subagent"]>;
}

const TICK_MS = 1_000;
type ActionInit = NonNullable<
  Extract<MessageInitShape<typeof ConversationActionSchema>, { action?: unknown }>["action"]
>;

/**
 * One turn: a run with all its attempts. Iterate it for its events, the last of which is the result; or await `result`.
 * It begins at once.
 */
export class Turn implements AsyncIterable<TurnEvent> {
  readonly result: Promise<TurnResult>;
  readonly #ports: TurnPorts;
  readonly #options: TurnOptions;
  readonly #events = new EventQueue<TurnEvent>();
  readonly #finished = Promise.withResolvers<TurnResult>();
  #state: TurnState;
  #stream: RunStream | undefined;
  #context: RequestContext | undefined;
  #requestId = "";
  #runId = "";
  #originalRequestId = "";
  /** Inputs that came while another was being carried out. */
  #inputs: TurnInput[] = [];
  #busy = false;
  #timers: Timer[] = [];

  constructor(ports: TurnPorts, options: TurnOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#originalRequestId = options.originalRequestId ?? "";
    this.#state = initialState(options.resumable ?? false, ports.clock.now());
    this.result = this.#finished.promise;
    this.#every(TICK_MS, () => this.#take({ type: "tick" }));
    this.#every(ports.heartbeatMs, () => this.#beat());
    this.#take({ type: "open" });
  }

  /** `x-request-id` of the present attempt. */
  get requestId(): string {
    return this.#requestId;
  }

  [Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    return this.#events[Symbol.asyncIterator]();
  }

  /**
   * Sends a user message on the live stream (a soft interrupt); it waits where there is no stream at the moment.
   * Undefined when the turn is over: then nobody has it.
   */
  say(text: string, messageId: string = this.#ports.entropy.uuid()): SentMessage | undefined {
    if (this.#state.phase === "done") return undefined;
    const message = { messageId, text };
    this.#take({ type: "say", message });
    return message;
  }

  /** Sends a user message as an injection into the run of the present attempt (wire section 10); gives its id. */
  inject(text: string, ids: { injectionId?: string; expectedRunId?: string } = {}): string {
    const { entropy, conversation } = this.#ports;
    const injectionId = ids.injectionId ?? entropy.uuid();
    const message = { messageId: entropy.uuid(), text };
    const context = this.#context;
    if (context !== undefined) {
      this.#act(injection(injectionId, ids.expectedRunId ?? this.#runId, message, conversation.mode, context));
    }
    return injectionId;
  }

  /** Reports commands that ended in the background; false when there is no stream to tell it on. */
  report(ends: readonly BackgroundEnd[]): boolean {
    if (!this.#state.live || this.#state.phase !== "streaming") return false;
    this.#act(backgroundCompletion(ends));
    return true;
  }

  /** Asks the server to stop; what runs here is stopped at once. */
  cancel(reason = "cancelled by the user"): void {
    this.#take({ type: "cancel", reason });
  }

  /** Stops at once, without waiting for the server. */
  leave(): void {
    this.#take({ type: "leave" });
  }

  #take(input: TurnInput): void {
    this.#inputs.push(input);
    if (this.#busy) return;
    this.#busy = true;
    for (let next = this.#inputs.shift(); next !== undefined; next = this.#inputs.shift()) {
      const { clock, entropy, limits } = this.#ports;
      const { state, effects } = step(this.#state, next, { limits, now: clock.now(), random: entropy.random() });
      this.#state = state;
      for (const effect of effects) this.#perform(effect);
    }
    this.#busy = false;
  }

  #perform(effect: TurnEffect): void {
    const { executions, queries, conversation, clock } = this.#ports;
    switch (effect.type) {
      case "open":
        return void this.#open(this.#state.attempts, effect.from);
      case "close":
        return this.#close();
      case "wait":
        this.#timers.push(clock.setTimeout(() => this.#take({ type: "open" }), effect.ms));
        return;
      case "say":
        if (this.#context !== undefined) this.#act(liveMessage(effect.message, conversation.mode, this.#context));
        return;
      case "cancel":
        return this.#cancel(effect.reason);
      case "exec":
        return executions.start(effect.request);
      case "abortExec":
        return executions.abort(effect.id);
      case "settleExec":
        executions.settled(effect.toolCallId);
        return queries.settled(effect.toolCallId);
      case "kv":
        return void this.#kv(effect.request);
      case "query":
        return queries.ask(effect.query);
      case "checkpoint":
        return conversation.keepCheckpoint(effect.bytes, effect.resumable);
      case "emit":
        return this.emit(effect.event);
      case "finish":
        return void this.#finish(effect.result);
    }
  }

  /** Adds an event of what this client itself does. */
  emit(event: TurnEvent): void {
    this.#events.push(event);
  }

  async #open(attempt: number, from: "message" | "resume"): Promise<void> {
    const { conversation, entropy, transport, executions, queries } = this.#ports;
    const { action, parent, subagent } = this.#options;
    this.#requestId = entropy.uuid();
    this.#runId = entropy.uuid();
    if (this.#originalRequestId === "") this.#originalRequestId = this.#requestId;
    if (attempt === 1 && action.kind === "message") this.#begin(action.message);
    this.emit({
      type: "turn.started",
      conversation: conversation.id,
      requestId: this.#requestId,
      attempt,
      from: from === "resume" ? "resume" : action.kind,
      model: conversation.model,
      mode: conversation.mode,
    });
    const context = await this.#ports.context();
    // meanwhile the turn may have been stopped, or this attempt given up
    if (this.#state.phase !== "opening" || this.#state.attempts !== attempt) return;
    this.#context = context;
    const call: RunCall = {
      requestId: this.#requestId,
      originalRequestId: this.#originalRequestId,
      ...(parent === undefined ? {} : { parent }),
    };
    this.#stream = transport.open(call, (event) => this.#inbound(attempt, event));
    const send = (message: ClientMessage) => this.#send(message);
    executions.attach(send);
    queries.attach(send);
    this.#stream.send(
      runRequest({
        conversationId: conversation.id,
        checkpoint: conversation.checkpoint,
        action: from === "resume" ? { kind: "resume" } : action,
        context,
        model: conversation.model,
        mode: conversation.mode,
        runId: this.#runId,
        agentSessionId: this.#ports.agentSessionId,
        tools: this.#ports.tools(),
        ...(subagent === undefined ? {} : { subagent }),
      }),
    );
    this.#take({ type: "requested" });
  }

  #begin({ messageId, text }: SentMessage): void {
    const { conversation } = this.#ports;
    conversation.begin({
      messageId,
      text,
      mode: conversation.mode,
      originalRequestId: this.#originalRequestId,
      checkpointed: this.#options.resumable ?? false,
    });
  }

  #inbound(attempt: number, event: Inbound): void {
    if (this.#state.attempts !== attempt) return;
    switch (event.kind) {
      case "opened":
        return this.#take({ type: "opened" });
      case "message":
        return this.#message(event.bytes);
      case "end":
        return event.end.kind === "completed"
          ? this.#take({ type: "ended" })
          : this.#take({ type: "failed", failure: serverFailure(event.end) });
      case "lost":
        return this.#take({ type: "failed", failure: event.failure });
    }
  }

  #message(bytes: Uint8Array): void {
    let message: AgentServerMessage;
    try {
      message = fromBinary(AgentServerMessageSchema, bytes);
    } catch {
      const failure = {
        kind: "protocol",
        code: "internal",
        title: "Unreadable answer",
        detail: "A message of the server could not be read.",
        retryable: false,
      } as const;
      return this.#take({ type: "failed", failure });
    }
    this.#take({ type: "message", message, checkpoint: onlyPayload(bytes, [3]) });
  }

  async #kv(request: KvServerMessage): Promise<void> {
    const stream = this.#stream;
    const value = await answerKv(request, this.#ports.blobs);
    if (value !== undefined && stream === this.#stream) this.#send({ case: "kvClientMessage", value });
  }

  #cancel(reason: string): void {
    const { executions, queries } = this.#ports;
    const resolutions = executions.resolutions();
    this.#act({
      case: "cancelAction",
      value: {
        reason,
        ...(resolutions.length === 0 ? {} : { interruptedPendingToolCallResolutions: { resolutions } }),
      },
    });
    executions.abortAll();
    queries.abortAll();
  }

  #act(action: ActionInit): void {
    this.#send({ case: "conversationAction", value: create(ConversationActionSchema, { action }) });
  }

  #send(message: ClientMessage): void {
    this.#stream?.send(encodeMessage(message));
  }

  #beat(): void {
    if (!this.#state.live) return;
    this.#stream?.send(encodeMessage(HEARTBEAT));
    this.#ports.executions.heartbeat();
  }

  #close(): void {
    this.#ports.executions.detach();
    this.#ports.queries.detach();
    this.#stream?.close();
    this.#stream = undefined;
  }

  async #finish(result: Extract<TurnEffect, { type: "finish" }>["result"]): Promise<void> {
    const { executions, queries, conversation, clock } = this.#ports;
    for (const timer of this.#timers.splice(0)) clock.clearTimeout(timer);
    executions.abortAll();
    queries.abortAll();
    const whole: TurnResult = { ...result, conversation: conversation.id, requestId: this.#requestId };
    try {
      await conversation.end(result.outcome === "failed" && (result.error?.retryable ?? false));
    } catch {
      this.emit({ type: "notice", text: "The conversation could not be stored on disk; it cannot be resumed later." });
    }
    this.emit({ type: "result", ...whole });
    this.#events.close();
    this.#finished.resolve(whole);
  }

  #every(ms: number, run: () => void): void {
    const { clock } = this.#ports;
    let index = -1;
    const again = () => {
      const timer = clock.setTimeout(() => {
        run();
        if (this.#state.phase !== "done") again();
      }, ms);
      if (index === -1) index = this.#timers.push(timer) - 1;
      else this.#timers[index] = timer;
    };
    again();
  }
}

const HEARTBEAT: ClientMessage = {
  case: "clientHeartbeat",
  value: { $typeName: "agent.v1.ClientHeartbeat" },
};
