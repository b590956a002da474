import type {
  AttachReceipt,
  Binding,
  CommandEnvelope,
  ConversationId,
  Conversations,
  Downlink,
  ExecControl,
  ExecReply,
  Generation,
  KvReply,
  Outcome,
  ParentConversationRef,
  Principal,
  QueryReply,
  Receipt,
  RequestId,
  StreamId,
} from "@chartroom/domain";
import type { Activation } from "./activation/activation.ts";
import { Capacity } from "./commands/capacity.ts";
import { CommandHandler } from "./commands/command-handler.ts";
import { opensRun } from "./commands/inbox.ts";
import type { ConversationDeps } from "./deps.ts";
import { failure, isUnavailable } from "./failures.ts";
import { Registry } from "./activation/registry.ts";
import { runOf } from "./commands/run-of.ts";
import { suspend } from "./activation/suspend.ts";
import { Sweeper } from "./activation/sweeper.ts";
import { evictOldest, rearm } from "./activation/parked.ts";
import { type ConversationSettings, settingsProblems } from "./settings.ts";
import { StreamTable } from "./streams/stream-table.ts";

/** The conversations of this process; the gateway's one door. */
export class ConversationService implements Conversations {
  readonly #deps: ConversationDeps;
  readonly registry: Registry;
  readonly #capacity: Capacity;
  readonly #streams = new StreamTable();
  readonly #handler: CommandHandler;
  readonly #sweeper: Sweeper;
  /** Generations whose opening command is being taken. */
  readonly #opening = new Set<StreamId>();
  #draining = false;

  constructor(deps: ConversationDeps) {
    this.#deps = deps;
    this.registry = new Registry(deps, {
      activated: (activation) => void activation.restored.promise.then(() => this.#countRestored(activation)),
      rests: (activation) => {
        // one command after the other: what is being decided counts on a conversation that stays at rest
        if (activation.inbox.some(opensRun))
          activation.beside(
            "opening from the inbox",
            activation.intake.run(() => this.#handler.openWaiting(activation)),
          );
      },
      released: (activation) => {
        for (const run of activation.runs.values()) run.release();
        this.#streams.forget(activation);
      },
    });
    this.#capacity = new Capacity({
      perProcess: deps.settings.maxOpenRuns,
      perMember: deps.settings.maxOpenRunsPerMember,
    });
    this.#handler = new CommandHandler(this.#capacity, this.#streams);
    this.#sweeper = new Sweeper(deps, this.registry, this.#streams);
  }

  /** Runs that came back from the store count again; they are never refused. */
  #countRestored(activation: Activation): void {
    for (const run of activation.runs.values())
      if (run.restored && !run.ended) run.release = this.#capacity.hold(activation.member);
  }

  /** Begins to look for conversations whose deadline has passed. */
  start(): void {
    this.#sweeper.start();
  }

  /**
   * Takes new settings: park timers are armed again from their original ages, then capacity is reconciled, the oldest parked
   * Run first; active ones are never ended. Wrong settings are refused as a whole, the last good ones stay.
   */
  applySettings(settings: ConversationSettings): readonly string[] {
    const problems = settingsProblems(settings);
    if (problems.length > 0) return problems;
    const { parkedRunTtlMs: former } = this.#deps.settings;
    this.#deps.settings = settings;
    this.#capacity.limit({ perProcess: settings.maxOpenRuns, perMember: settings.maxOpenRunsPerMember });
    for (const activation of this.registry.all())
      for (const run of activation.runs.values()) rearm(activation, run, settings.parkedRunTtlMs, former);
    for (let excess = this.#capacity.excess; excess > 0; excess--) if (!evictOldest(this.#streams)) break;
    return [];
  }

  get openRuns(): number {
    return this.#capacity.openRuns;
  }

  async submit(envelope: CommandEnvelope): Promise<Receipt> {
    const { streamId } = envelope.generation;
    if (envelope.carrier === "B") return orUnavailable(this.#submit(envelope));
    this.#opening.add(streamId);
    return orUnavailable(this.#submit(envelope)).finally(() => this.#opening.delete(streamId));
  }

  async #submit(envelope: CommandEnvelope): Promise<Receipt> {
    const { principal, generation, message, carrier } = envelope;
    const live = this.#streams.activationOf(generation);
    // what comes on a live stream is for a Run that may still end
    if (this.#draining && carrier === "A") return { kind: "refused", failure: failure("DRAINING") };
    if (this.#draining && !live) return { kind: "dropped", reason: "the server is stopping" };
    if (live && message.kind === "action") return this.#handler.handle(live, envelope, live.heard);
    const named = message.kind === "action" ? undefined : message.request.conversationId;
    const conversationId =
      named ?? (await this.#deps.store.binding(principal.member, generation.requestId))?.conversationId;
    if (!conversationId)
      return carrier === "B"
        ? { kind: "dropped", reason: "no Run on this stream" }
        : { kind: "refused", failure: failure("INVALID_REQUEST", "The request names no conversation.") };
    const starts = carrier === "A";
    // what is delivered while the store is asked was not known to who sent this
    const before = this.registry.find(conversationId);
    const heard = before?.heard ?? 0;
    const parent = starts ? await this.#parentOf(envelope) : undefined;
    // side by side: the gateway has found no conflict, so that the activation of a refused request is the rarest of races
    const [refusal, found] = await Promise.all([
      starts ? this.#bind(envelope, conversationId) : undefined,
      this.registry.get(conversationId, principal.member, {
        create: starts,
        ...(parent ? { parent } : {}),
        ...stuckBy(message),
      }),
    ]);
    if (refusal) return { kind: "refused", failure: failure(refusal) };
    if (!found.ok)
      return starts || found.failure.retryable
        ? { kind: "refused", failure: found.failure }
        : { kind: "dropped", reason: "the conversation is not here" };
    return this.#handler.handle(found.activation, envelope, found.activation === before ? heard : 0);
  }

  attach(principal: Principal, generation: Generation, downlink: Downlink): Promise<AttachReceipt> {
    return orUnavailable(this.#attach(principal, generation, downlink));
  }

  async #attach(principal: Principal, generation: Generation, downlink: Downlink): Promise<AttachReceipt> {
    const attached = this.#streams.attach(generation, downlink);
    if (attached)
      return { kind: "attached", conversationId: attached.activation.conversationId, runId: attached.runId };
    // the command that opens it is on its way: nothing in the store knows more
    if (this.#opening.has(generation.streamId)) return { kind: "waiting" };
    const bound = await this.#deps.store.binding(principal.member, generation.requestId).catch(() => undefined);
    if (!bound || this.#streams.activationOf(generation)) return { kind: "waiting" };
    const found = await this.registry.get(bound.conversationId, principal.member, { create: false });
    if (!found.ok) return { kind: "refused", failure: found.failure };
    const { activation } = found;
    const row = await runOf(activation, generation);
    if (!row || this.#streams.activationOf(generation)) return { kind: "waiting" };
    const live = activation.runs.get(row.runId);
    if (live) this.#streams.carry(generation, activation, live, { kind: "runStart" });
    else this.#streams.answer(generation, activation, row.runId, bareRequest(activation.conversationId, row.modelId));
    return { kind: "attached", conversationId: activation.conversationId, runId: row.runId };
  }

  async exec(generation: Generation, reply: ExecReply): Promise<Receipt> {
    const at = this.#streams.stream(generation);
    if (!at) return this.#late("exec answer without a Run");
    if (at.stream.answerAsked(reply.execId, reply)) return this.#taken(at.activation.conversationId);
    const place = at.stream.execPlace(reply.execId);
    if (!place || !at.run.board?.reply(place, reply)) return this.#late("exec answer without an open call");
    await at.run.board?.flushed();
    return this.#kept(at.activation);
  }

  async control(generation: Generation, control: ExecControl): Promise<Receipt> {
    const at = this.#streams.stream(generation);
    if (!at) return this.#late("exec control without a Run");
    if (control.kind === "throw" && at.stream.answerAsked(control.execId, undefined))
      return this.#taken(at.activation.conversationId);
    const place = at.stream.execPlace(control.execId);
    // a close after the result is what official clients send; it needs no line in the log
    if (!place || !at.run.board?.control(place, control))
      return control.kind === "throw"
        ? this.#late("exec control without an open call")
        : this.#taken(at.activation.conversationId);
    await at.run.board?.flushed();
    return this.#kept(at.activation);
  }

  kv(generation: Generation, reply: KvReply): Promise<Receipt> {
    const at = this.#streams.clientOf(generation);
    return Promise.resolve(
      at?.stream.kv(reply)
        ? this.#taken(at.activation.conversationId)
        : this.#late("blob answer that nobody asked for"),
    );
  }

  async query(generation: Generation, reply: QueryReply): Promise<Receipt> {
    const at = this.#streams.stream(generation);
    const place = at?.stream.queryPlace(reply.queryId);
    if (!at || !place || !at.run.board?.answer(place, reply)) return this.#late("query answer without an open query");
    await at.run.board?.flushed();
    return this.#kept(at.activation);
  }

  async binding(principal: Principal, requestId: RequestId): Promise<Binding | undefined> {
    const bound = await this.#deps.store.binding(principal.member, requestId);
    if (!bound) return undefined;
    const found = await this.registry.get(bound.conversationId, principal.member, { create: false });
    const row = found.ok ? await runOf(found.activation, { requestId, generation: bound.generation }) : undefined;
    const run = found.ok && row ? found.activation.runs.get(row.runId) : undefined;
    return { ...bound, live: run?.ended === false };
  }

  /** The node's lease is gone: another node may own any of its conversations, so it says nothing more for them. */
  loseAll(): void {
    for (const activation of this.registry.all()) activation.send({ type: "fence.lost" });
  }

  /** Refuses new commands, lets open Runs end within the limit, then ends their streams as retryable. */
  async drain(limitMs: number): Promise<void> {
    this.#draining = true;
    this.#sweeper.stop();
    const { clock } = this.#deps;
    const deadline = clock.now() + limitMs;
    const busy = (): boolean => this.registry.all().some((activation) => activation.phase !== "idle");
    while (busy() && clock.now() < deadline) await new Promise<void>((resume) => clock.setTimeout(resume, 50));
    await Promise.all(this.registry.all().map((activation) => suspend(activation)));
  }

  /** Binds the request id and counts its generation. */
  async #bind(
    { principal, generation }: CommandEnvelope,
    conversationId: ConversationId,
  ): Promise<"IDENTITY_CONFLICT" | "STORE_UNAVAILABLE" | undefined> {
    const { store } = this.#deps;
    const binding = await store.bind(principal.member, generation.requestId, conversationId);
    if (binding.kind === "conflict") return "IDENTITY_CONFLICT";
    if (binding.kind === "unavailable") return "STORE_UNAVAILABLE";
    let count = binding.generation;
    while (count < generation.generation) count = await store.nextGeneration(principal.member, generation.requestId);
    return undefined;
  }

  async #parentOf({ principal, parent }: CommandEnvelope): Promise<ParentConversationRef | undefined> {
    return parent ? this.#deps.store.parentOf(principal.member, parent.requestId, parent.callId) : undefined;
  }

  /** What was brought is in the store, or the activation is over and it never will be. */
  #kept(activation: Activation): Receipt {
    return activation.ended
      ? { kind: "refused", failure: failure("STORE_UNAVAILABLE") }
      : this.#taken(activation.conversationId);
  }
  #taken(conversationId: ConversationId): Receipt {
    return { kind: "acknowledged", conversationId };
  }
  #late(reason: string): Receipt {
    this.#deps.events({ type: "input.dropped", conversationId: null, reason });
    return { kind: "dropped", reason };
  }
}

/** What a command makes of a Run that cannot go on (lifecycle spec, section 5): it is stopped, or makes way for the command. */
function stuckBy(message: CommandEnvelope["message"]): { readonly stuck?: Outcome } {
  const { kind } = message.kind === "action" ? message.action : message.request.action;
  if (kind === "cancel") return { stuck: { kind: "cancelled", code: "CANCELLED" } };
  return message.kind === "run" ? { stuck: { kind: "superseded", code: "SUPERSEDED" } } : {};
}

/** A store that cannot be read refuses, as one that cannot be written does. */
async function orUnavailable<R>(receipt: Promise<R>): Promise<R | Extract<Receipt, { kind: "refused" }>> {
  try {
    return await receipt;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return { kind: "refused", failure: failure("STORE_UNAVAILABLE") };
  }
}

function bareRequest(conversationId: ConversationId, modelId: RunRequestModel): Parameters<StreamTable["answer"]>[3] {
  return {
    conversationId,
    state: new Uint8Array(),
    action: { kind: "resume" },
    model: { modelId, maxMode: false, parameters: {} },
    mcpTools: [],
    prefetched: [],
  };
}
type RunRequestModel = Parameters<StreamTable["answer"]>[3]["model"]["modelId"];
