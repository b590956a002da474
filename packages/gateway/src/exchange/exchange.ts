import type {
  Binding,
  Conversations,
  DomainEventListener,
  Failure,
  Principal,
  RequestId,
  Timer,
  UplinkMessage,
} from "@chartroom/domain";
import { type CallHeaders, streamIdOf } from "@chartroom/protocol";
import { FAILURES } from "../failures.ts";
import type { GatewayLimits } from "../limits.ts";
import type { Transport, TransportEnd, TransportPorts } from "../stream/transport.ts";
import { type GenerationRecord, knownOf } from "./generation.ts";
import { type Answer, appendAnswer, envelope, handOver, receiptOf, type Sender } from "./hand-over.ts";
import { decideOpening, eventKey, type OpeningDecision } from "./opening.ts";
import { Serial } from "./serial.ts";

export interface ExchangePorts extends TransportPorts {
  readonly conversations: Conversations;
  readonly events: DomainEventListener;
  readonly limits: GatewayLimits;
  readonly draining: () => boolean;
  /** Takes what nobody expected, for the log. */
  readonly report: (cause: unknown) => void;
}

type OpeningMessage = Extract<UplinkMessage, { kind: "run" | "prewarm" }>;

/** A message that may open a generation, with what its call said about itself. */
export interface Opening {
  readonly message: OpeningMessage;
  readonly headers: CallHeaders;
  /** Of the message's bytes as they came. */
  readonly digest: string;
  /** The stream that brought it, when it can carry the output as well. */
  readonly transport?: Transport;
}

export interface Opened {
  /** What the opening means; known before the conversation has it. */
  readonly decided: Promise<OpeningDecision>;
  readonly answer: Promise<Answer>;
}

/**
 * All that belongs to one request id of one member: its generations one after the other, and the downlink of the
 * newest. Decisions are pure (`decideOpening`); this shell asks the conversations and moves the downlink along.
 */
export class Exchange {
  readonly principal: Principal;
  readonly requestId: RequestId;
  /** Called when the newest generation is over. */
  onOver: (() => void) | undefined;
  /** Epoch ms of its last use. */
  usedMs: number;
  readonly #ports: ExchangePorts;
  readonly #openings = new Serial();
  /** What the store said; `undefined` until it could be asked. */
  #lookedUp: Promise<{ readonly binding: Binding | undefined }> | undefined;
  #current: GenerationRecord | undefined;
  #transport: Transport | undefined;
  /** The generation that the transport was offered for. */
  #attached: GenerationRecord | undefined;
  #grace: Timer | undefined;
  /** Why the last opening was refused, where no generation says it. */
  #refused: Failure | undefined;
  /** What the downlink's call said about itself: an opening that comes as an append may say less. */
  #headers: CallHeaders | undefined;

  /** `made`: the request id was made here, so nothing can be bound to it. */
  constructor(principal: Principal, requestId: RequestId, ports: ExchangePorts, made: boolean) {
    this.principal = principal;
    this.requestId = requestId;
    this.#ports = ports;
    this.usedMs = ports.clock.now();
    if (made) this.#lookedUp = Promise.resolve({ binding: undefined });
    else void this.ready();
  }

  /** Makes sure that what the store knows of the request id is known here; `false`: the store cannot be asked now. */
  async ready(): Promise<boolean> {
    this.#lookedUp ??= this.#adopt();
    try {
      await this.#lookedUp;
      return true;
    } catch (cause) {
      this.#ports.report(cause);
      this.#lookedUp = undefined;
      return false;
    }
  }

  get current(): GenerationRecord | undefined {
    return this.#current;
  }

  /** Neither a stream nor a message depends on it. */
  get idle(): boolean {
    return this.#transport === undefined && this.#current?.phase !== "opening";
  }

  /** Takes a downlink that came without an opening of its own (RunSSE) and gives it the newest generation when it has one. */
  join(transport: Transport, headers: CallHeaders): void {
    this.#headers = headers;
    this.#take(transport);
    void this.#place(transport);
  }

  /** Opens a generation, or finds that the message repeats one. Openings are decided one after the other. Neither promise rejects. */
  open(opening: Opening): Opened {
    const decided = Promise.withResolvers<OpeningDecision>();
    const answer = this.#openings.run(async () => {
      try {
        const decision = await this.#decide(opening);
        // first the new generation, then whoever waited for the decision
        const applied = this.#apply(opening, decision);
        decided.resolve(decision);
        return await applied;
      } catch (cause) {
        this.#ports.report(cause);
        decided.resolve({ kind: "refuse", failure: FAILURES.internal });
        return FAILURES.internal;
      }
    });
    return { decided: decided.promise, answer };
  }

  /** Hands a message that opens nothing to the conversation. `record`: the generation of the stream that brought it. */
  async deliver(
    message: Exclude<UplinkMessage, OpeningMessage>,
    headers: CallHeaders | undefined,
    record: GenerationRecord | undefined,
  ): Promise<Answer> {
    this.usedMs = this.#ports.clock.now();
    if (message.kind === "heartbeat") return undefined;
    if (message.kind === "unknown") return this.drop(record, "unknown message");
    if (record === undefined) {
      return (await this.ready()) ? this.drop(undefined, "no generation") : FAILURES.storeUnavailable;
    }
    const { conversations, report } = this.#ports;
    const receipt = await receiptOf(() => handOver(conversations, message, this.#sender(record, headers)), report);
    if (receipt.kind === "run" && record === this.#current) void this.#attach(record, true);
    return appendAnswer(receipt);
  }

  /** Tells observers of a message that had no effect. */
  drop(record: GenerationRecord | undefined, reason: string): undefined {
    this.#ports.events({ type: "input.dropped", conversationId: record?.conversationId ?? null, reason });
    return undefined;
  }

  /** The opening of a generation could not be taken: who waits for its Run, or comes for it, is told so at once. */
  refuseOpening(failure: Failure): void {
    this.#refused = failure;
    this.failWaiting(failure);
  }

  /** Ends a downlink that still waits for a Run. */
  failWaiting(failure: Failure): void {
    if (this.#transport?.claimed === false) this.#transport.fail(failure);
  }

  async #adopt(): Promise<{ readonly binding: Binding | undefined }> {
    const binding = await this.#ports.conversations.binding(this.principal, this.requestId);
    if (binding !== undefined && this.#current === undefined) {
      this.#current = {
        ...this.#record(binding.generation, true),
        conversationId: binding.conversationId,
        phase: binding.live ? "live" : "over",
        // whether a client has its terminal is not known; taking it for delivered costs a late one a short wait
        delivered: true,
      };
    }
    return { binding };
  }

  async #decide({ message, digest }: Opening): Promise<OpeningDecision> {
    this.usedMs = this.#ports.clock.now();
    if (this.#ports.draining()) return { kind: "refuse", failure: FAILURES.draining };
    const { request } = message;
    const incoming = { kind: message.kind, conversationId: request.conversationId, event: eventKey(request), digest };
    try {
      const found = await (this.#lookedUp ??= this.#adopt());
      const known = knownOf(this.#current);
      const binding =
        known === undefined ? found.binding : await this.#ports.conversations.binding(this.principal, this.requestId);
      return decideOpening(incoming, known, binding);
    } catch (cause) {
      this.#ports.report(cause);
      this.#lookedUp = undefined;
      return { kind: "refuse", failure: FAILURES.storeUnavailable };
    }
  }

  #apply(opening: Opening, decision: OpeningDecision): Promise<Answer> {
    if (decision.kind === "refuse") {
      if (opening.transport !== undefined) opening.transport.fail(decision.failure);
      else this.refuseOpening(decision.failure);
      return Promise.resolve(decision.failure);
    }
    this.#refused = undefined;
    if (opening.transport !== undefined) this.#take(opening.transport);
    this.#stopGrace();
    if (decision.kind === "repeat") {
      if (opening.transport !== undefined) this.#show(this.#current);
      return Promise.resolve(undefined);
    }
    if (decision.kind === "begin") {
      // a downlink that has the Run of the generation before ends with that one
      if (this.#transport?.claimed === true) this.#transport = undefined;
      this.#current = this.#record(decision.generation, false);
    }
    const record = this.#current!;
    record.phase = "opening";
    record.conversationId = decision.conversationId;
    record.digests.push(opening.digest);
    if (opening.message.kind === "run") record.event = eventKey(opening.message.request);
    return this.#submit(opening, record, decision.conversationId);
  }

  async #submit(
    { message, headers }: Opening,
    record: GenerationRecord,
    conversationId: NonNullable<GenerationRecord["conversationId"]>,
  ): Promise<Answer> {
    const bound = { ...message, request: { ...message.request, conversationId } };
    const { conversations, report } = this.#ports;
    const sent = envelope("A", bound, this.#sender(record, headers));
    const receipt = await receiptOf(() => conversations.submit(sent), report);
    if (receipt.kind === "run" || (message.kind === "prewarm" && receipt.kind !== "refused")) {
      record.phase = receipt.kind === "run" ? "live" : "prewarmed";
      if (receipt.kind === "run") void this.#attach(record, true);
      return undefined;
    }
    // on carrier A the stream ends with the answer; a Run request that opened no Run is an empty finished turn
    record.end = receipt.kind === "refused" ? { kind: "failed", failure: receipt.failure } : { kind: "finishedTurn" };
    if (receipt.kind === "refused") {
      // nothing of it was kept, so it binds nothing, and the same message again is a new attempt
      record.conversationId = undefined;
      record.digests.length = 0;
    }
    this.#over(record);
    if (record === this.#current) this.#show(record);
    return appendAnswer(receipt);
  }

  #sender({ generation }: GenerationRecord, headers: CallHeaders | undefined): Sender {
    return { principal: this.principal, generation, headers: { ...this.#headers, ...headers } };
  }

  #record(generation: number, adopted: boolean): GenerationRecord {
    return {
      generation: {
        member: this.principal.member,
        requestId: this.requestId,
        generation,
        streamId: streamIdOf(this.requestId, generation),
      },
      conversationId: undefined,
      phase: "opening",
      event: undefined,
      digests: [],
      end: undefined,
      delivered: false,
      adopted,
    };
  }

  #unclaimed(): Transport | undefined {
    return this.#transport?.claimed === false ? this.#transport : undefined;
  }

  #take(transport: Transport): void {
    if (this.#transport === transport) return;
    this.#stopGrace();
    this.usedMs = this.#ports.clock.now();
    // one that has its Run is closed by the claim of the new one
    this.#unclaimed()?.fail(FAILURES.replaced);
    this.#transport = transport;
    this.#attached = undefined;
    transport.onEnd((end) => this.#ended(transport, end));
  }

  #ended(transport: Transport, end: TransportEnd): void {
    this.usedMs = this.#ports.clock.now();
    if (this.#transport !== transport) return;
    this.#stopGrace();
    this.#transport = undefined;
    const record = this.#attached;
    // a downlink that was replaced, or lagged too far, ends without the Run
    const runEnded =
      end.kind === "terminal" &&
      !end.own &&
      (end.terminal.kind === "completed" || end.terminal.failure.code !== "REPLACED");
    if (record === undefined || !runEnded) return;
    transport.onFinish((delivered) => (record.delivered ||= delivered));
    this.#over(record);
  }

  #over(record: GenerationRecord): void {
    // an old output that is shown again ends again
    if (record.phase === "over") return;
    record.phase = "over";
    if (record === this.#current) this.onOver?.();
  }

  async #place(transport: Transport): Promise<void> {
    await this.ready();
    if (this.#transport !== transport || transport.claimed) return;
    const record = this.#current;
    if (record === undefined && this.#refused !== undefined) transport.fail(this.#refused);
    if (record?.phase === "live") await this.#attach(record, false);
    else if (record?.phase === "over" && !record.delivered) this.#show(record);
    else if (record?.phase === "over") {
      // the next turn may use this request id again, and its downlink may come before its Run request
      this.#grace = this.#ports.clock.setTimeout(() => this.#show(record), this.#ports.limits.rejoinGraceMs);
    }
  }

  /** Gives the waiting downlink what a generation has to show. */
  #show(record: GenerationRecord | undefined): void {
    const transport = this.#unclaimed();
    if (record === undefined || transport === undefined) return;
    if (record.end === undefined) void this.#attach(record, false);
    else if (record.end.kind === "finishedTurn") transport.finishTurn();
    else transport.fail(record.end.failure);
    if (record.end !== undefined) transport.onFinish((delivered) => (record.delivered ||= delivered));
  }

  /** Offers the waiting downlink to a generation, once. `hasRun`: the conversation said that there is one. */
  async #attach(record: GenerationRecord, hasRun: boolean): Promise<void> {
    const transport = this.#transport;
    if (transport === undefined || this.#attached === record) return;
    this.#attached = record;
    if (hasRun) transport.claim();
    const downlink = transport.downlink(record.generation.streamId);
    const { conversations, report } = this.#ports;
    const receipt = await receiptOf(() => conversations.attach(this.principal, record.generation, downlink), report);
    if (receipt.kind === "refused") transport.fail(receipt.failure);
    else if (receipt.kind === "attached") transport.claim();
  }

  #stopGrace(): void {
    if (this.#grace !== undefined) this.#ports.clock.clearTimeout(this.#grace);
    this.#grace = undefined;
  }
}
