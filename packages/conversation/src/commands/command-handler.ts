import type {
  Action,
  Carrier,
  CommandEnvelope,
  InboxKind,
  Receipt,
  ReplayFrom,
  RunId,
  RunRequest,
  RunRow,
  TraceId,
  Urgency,
} from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { watchHeartbeats } from "../streams/attachment.ts";
import type { Capacity } from "./capacity.ts";
import { viewCommand } from "./command-view.ts";
import { decide, type Decision } from "./decide.ts";
import { failure } from "../failures.ts";
import { ineffective } from "./ineffective.ts";
import { openFollowUp } from "./follow-up.ts";
import { inboxKey, urgencyOf } from "./inbox.ts";
import { LiveRun } from "../activation/live-run.ts";
import { messageIdOf } from "./message-content.ts";
import { evictOldest } from "../activation/parked.ts";
import { resumePointOf } from "../streams/rebuild.ts";
import { settleFromState, settleResolutions } from "./settle-calls.ts";
import type { StreamTable } from "../streams/stream-table.ts";

/** What stops the Step that is under way: results that come with it are taken in the same moment. */
const STOPS: ReadonlySet<Decision["kind"]> = new Set(["inbox", "cancel", "wait", "start"]);

/** Carries out what the command table decides; one command of a conversation after the other. */
export class CommandHandler {
  readonly #capacity: Capacity;
  readonly #streams: StreamTable;

  constructor(capacity: Capacity, streams: StreamTable) {
    this.#capacity = capacity;
    this.#streams = streams;
  }

  /**
   * The receipt is given after the write that it depends on; later commands do not wait for that. `heard`: how many of the
   * activation's deliveries its client knew when it came.
   */
  async handle(activation: Activation, envelope: CommandEnvelope, heard: number): Promise<Receipt> {
    const later = await activation.intake.run(() => this.#decide(activation, envelope, heard));
    return later();
  }

  async #decide(activation: Activation, envelope: CommandEnvelope, heard: number): Promise<() => Promise<Receipt>> {
    const { conversationId } = activation;
    const request = this.#requestOf(activation, envelope);
    if (!request) return () => Promise.resolve({ kind: "dropped", reason: "no Run on this stream" });
    if (envelope.message.kind === "prewarm") return () => Promise.resolve({ kind: "acknowledged", conversationId });
    const { action } = request;
    const view = await viewCommand(activation, envelope, action);
    const decision = decide(action, envelope.carrier, request.wireRunId, view);
    if (!STOPS.has(decision.kind)) await settleResolutions(activation, action);
    // it ended while the store was asked: nobody would ever answer for a Run that is put into it
    if (activation.ended) return () => Promise.resolve({ kind: "refused", failure: failure("STORE_UNAVAILABLE") });
    switch (decision.kind) {
      case "start":
      case "wait":
        return this.#open(activation, envelope, request, decision, { heard, again: view.known !== undefined });
      case "continue":
        return this.#open(activation, envelope, request, { kind: "start" }, { heard, continues: decision.runId });
      case "claim":
        return this.#claim(activation, envelope, request, decision.runId);
      case "answer":
        return this.#answer(activation, envelope, request, decision.runId);
      case "inbox":
        return this.#put(activation, envelope, action, decision);
      case "cancel":
        return this.#cancel(activation, action, decision.runId, envelope.carrier === "A");
      case "rejectInjection":
        return this.#reject(activation, action, decision.reason);
      case "finishedTurn":
        this.#note(activation, action, envelope.carrier);
        return () => Promise.resolve({ kind: "finishedTurn", conversationId });
      case "acknowledge":
        this.#note(activation, action, envelope.carrier);
        return () => Promise.resolve({ kind: "acknowledged", conversationId });
      case "refuse":
        return () => Promise.resolve({ kind: "refused", failure: failure(decision.code) });
    }
  }

  /** An action of a live stream asks with the model and tools of the stream's own Run. */
  #requestOf(activation: Activation, { message, generation }: CommandEnvelope): RunRequest | undefined {
    if (message.kind !== "action") return message.request;
    const stream = activation.streams.get(generation.streamId);
    const run = (stream && activation.runs.get(stream.runId)) ?? activation.currentRun ?? activation.lastRun;
    return run ? { ...run.request, action: message.action, state: new Uint8Array(), prefetched: [] } : undefined;
  }

  async #open(
    activation: Activation,
    envelope: CommandEnvelope,
    request: RunRequest,
    decision: Extract<Decision, { kind: "start" | "wait" }>,
    origin: { readonly heard: number; readonly continues?: RunId; readonly again?: boolean },
  ): Promise<() => Promise<Receipt>> {
    const { member, conversationId } = activation;
    const lack = this.#makeRoom(activation);
    if (lack) return () => Promise.resolve({ kind: "refused", failure: failure("LOCAL_CAPACITY") });
    const release = this.#capacity.hold(member);
    const row = this.#row(activation, envelope, request, decision.kind === "wait");
    const run = new LiveRun(row, request);
    run.heard = origin.heard;
    run.continues = origin.continues;
    run.again = origin.again === true;
    if (envelope.carrier === "B") run.knownContext = activation.lastRun?.compiled?.scope.context;
    run.release = release;
    if (decision.kind === "wait") {
      // who waited until now is told by the chart, which knows whether it still waits when this one is in the store
      const done = await activation.commit(() => ({ runsOpened: [row] }));
      if (!done) {
        run.release();
        return () => Promise.resolve({ kind: "refused", failure: failure("STORE_UNAVAILABLE") });
      }
      run.accepted.resolve(true);
    }
    activation.addRun(run);
    const current = activation.currentRun;
    const { parkedRunTtlMs } = activation.deps.settings;
    activation.send({
      type: "run.requested",
      runId: row.runId,
      kind: row.kind,
      followUp: false,
      asked: false,
      parkDeadline: row.acceptedAt + parkedRunTtlMs,
    });
    watchHeartbeats(activation, run);
    this.#streams.carry(envelope.generation, activation, run, { kind: "runStart" });
    const settled = settleResolutions(activation, request.action);
    // the Run that waited may have begun meanwhile
    if (decision.kind === "wait" && row.kind === "turn" && activation.phase === "active" && current)
      activation.send({ type: "run.superseded", runId: current.row.runId });
    activation.deps.events({ type: "run.started", conversationId, runId: row.runId, traceId: row.traceId });
    return async () => {
      await settled;
      return (await run.accepted.promise)
        ? { kind: "run", conversationId, runId: row.runId }
        : { kind: "refused", failure: failure("STORE_UNAVAILABLE") };
    };
  }

  /** Full: the oldest parked Run makes room; none parked: what is lacking. */
  #makeRoom(activation: Activation): "process" | "member" | undefined {
    const lack = this.#capacity.lack(activation.member);
    if (!lack) return undefined;
    if (!evictOldest(this.#streams, lack === "member" ? activation.member : undefined)) return lack;
    return this.#capacity.lack(activation.member);
  }

  #row(activation: Activation, envelope: CommandEnvelope, request: RunRequest, waits: boolean): RunRow {
    const { entropy, clock, settings } = activation.deps;
    const { action } = request;
    const messageId = messageIdOf(action);
    return {
      runId: entropy.uuid() as RunId,
      traceId: entropy.uuid() as TraceId,
      kind: action.kind === "summarize" ? "summarize" : "turn",
      status: waits ? "waiting" : "running",
      wireRunIds: request.wireRunId ? [request.wireRunId] : [],
      requestId: envelope.generation.requestId,
      generation: envelope.generation.generation,
      modelId: request.model.modelId,
      acceptedAt: clock.now(),
      delivered: false,
      // for a node that is killed while a transport is attached: its clients may never come back
      parkDeadline: clock.now() + settings.parkedRunTtlMs,
      request: envelope.message.raw,
      ...(messageId === undefined ? {} : { messageId }),
      ...(request.agentSessionId ? { agentSessionId: request.agentSessionId } : {}),
    };
  }

  async #claim(
    activation: Activation,
    envelope: CommandEnvelope,
    request: RunRequest,
    runId: RunId,
  ): Promise<() => Promise<Receipt>> {
    const { conversationId } = activation;
    const run = activation.runs.get(runId);
    if (!run) return () => Promise.resolve({ kind: "refused", failure: failure("NOT_FOUND") });
    if (!run.compiled) run.knownContext = "context" in request.action ? request.action.context : undefined;
    const checkpoint = resumePointOf(activation, request);
    if (request.action.kind === "resume") await settleFromState(activation, run, request);
    const from: ReplayFrom = checkpoint ? { kind: "checkpoint", checkpoint } : { kind: "runStart" };
    const kept = this.#keepClaim(activation, envelope, run, request.wireRunId);
    this.#streams.carry(envelope.generation, activation, run, from);
    return async () =>
      (await kept) && (await run.accepted.promise)
        ? { kind: "run", conversationId, runId }
        : { kind: "refused", failure: failure("STORE_UNAVAILABLE") };
  }

  /** The Run has one more generation, and one more wire run id if the claim names a new one; `false`: the activation is over. */
  async #keepClaim(
    activation: Activation,
    { generation: { requestId, generation } }: CommandEnvelope,
    run: LiveRun,
    wireRunId: RunRequest["wireRunId"],
  ): Promise<boolean> {
    const { runId } = run.row;
    const names = wireRunId !== undefined && !run.row.wireRunIds.includes(wireRunId);
    const wireRunIds = names ? [...run.row.wireRunIds, wireRunId] : run.row.wireRunIds;
    run.row = { ...run.row, wireRunIds };
    const done = await activation.commit(() => ({
      runsClaimed: [{ runId, requestId, generation }],
      ...(names ? { runsChanged: [{ runId, wireRunIds }] } : {}),
    }));
    return done !== undefined;
  }

  async #answer(
    activation: Activation,
    { generation }: CommandEnvelope,
    request: RunRequest,
    runId: RunId,
  ): Promise<() => Promise<Receipt>> {
    const { conversationId } = activation;
    this.#streams.answer(generation, activation, runId, request);
    const kept = activation.commit(() => ({
      runsClaimed: [{ runId, requestId: generation.requestId, generation: generation.generation }],
    }));
    return async () =>
      (await kept)
        ? { kind: "run", conversationId, runId }
        : { kind: "refused", failure: failure("STORE_UNAVAILABLE") };
  }

  async #put(
    activation: Activation,
    envelope: CommandEnvelope,
    action: Action,
    decision: Extract<Decision, { kind: "inbox" }>,
  ): Promise<() => Promise<Receipt>> {
    const { conversationId } = activation;
    const { codec } = activation.deps;
    const key = inboxKey(action, conversationId);
    const { requestId, generation } = envelope.generation;
    const run = activation.currentRun;
    const row = {
      kind: decision.row,
      key,
      body: envelope.message.raw,
      requestId,
      generation,
      ...(run ? { runId: run.row.runId } : {}),
    };
    const done = await activation.commit(() => ({ inboxPut: [row] }));
    const placed = done?.inbox.find((entry) => entry.key === key);
    if (!placed) return () => Promise.resolve({ kind: "refused", failure: failure("STORE_UNAVAILABLE") });
    activation.seenKeys.add(key);
    let settled: Promise<void> | undefined;
    if (!placed.duplicate) {
      activation.inbox.push({ ...row, seq: placed.seq, state: "waiting" });
      const state =
        activation.phase === "active" ? ({ kind: "queued" } as const) : ({ kind: "queuedForNextTurn" } as const);
      if (action.kind === "inject" && run)
        activation.append(
          run,
          "update",
          codec.update({ kind: "injectionState", injectionId: action.injection.injectionId, state }),
        );
      settled = settleResolutions(activation, action);
      if (activation.phase === "idle") await this.openWaiting(activation);
      else
        activation.send({
          type: "inbox.filled",
          joins: activation.joins,
          urgency: this.#urgency(decision.row, decision.urgency),
        });
    }
    return async () => {
      await settled;
      if (settled && activation.ended) return { kind: "refused", failure: failure("STORE_UNAVAILABLE") };
      return { kind: envelope.carrier === "A" ? "finishedTurn" : "acknowledged", conversationId };
    };
  }

  #urgency(kind: InboxKind, urgency: Urgency): Urgency {
    return urgency === "settle" ? urgencyOf([{ kind, system: true }]) : urgency;
  }

  /** In `idle`: what the inbox holds opens a Run. */
  async openWaiting(activation: Activation): Promise<void> {
    if (activation.phase !== "idle" || activation.waitingRun) return;
    const last = activation.lastRun;
    const followUp = last && openFollowUp(activation, last, false);
    if (!followUp || !(await activation.commit(() => followUp.barrier))) return;
    followUp.announce();
  }

  async #cancel(
    activation: Activation,
    action: Action,
    runId: RunId,
    onNewStream: boolean,
  ): Promise<() => Promise<Receipt>> {
    const { conversationId } = activation;
    const run = activation.runs.get(runId);
    const settled = settleResolutions(activation, action);
    activation.send({ type: "cancel", runId });
    return async () => {
      await settled;
      const stopped = run === undefined || (await run.stopped.promise);
      if (!stopped) return { kind: "refused", failure: failure("STORE_UNAVAILABLE") };
      return onNewStream ? { kind: "finishedTurn", conversationId } : { kind: "acknowledged", conversationId };
    };
  }

  /** An action that does nothing here leaves a line in the log. */
  #note({ deps, conversationId }: Activation, action: Action, carrier: Carrier): void {
    const reason = ineffective(action, carrier);
    if (reason !== undefined) deps.events({ type: "input.dropped", conversationId, reason });
  }

  #reject(activation: Activation, action: Action, reason: string): () => Promise<Receipt> {
    const { conversationId } = activation;
    const key = inboxKey(action, conversationId);
    const run = activation.currentRun ?? activation.lastRun;
    if (action.kind === "inject" && run && !activation.seenKeys.has(key)) {
      activation.seenKeys.add(key);
      activation.append(
        run,
        "update",
        activation.deps.codec.update({
          kind: "injectionState",
          injectionId: action.injection.injectionId,
          state: { kind: "rejected", reason },
        }),
      );
    }
    return () => Promise.resolve({ kind: "acknowledged", conversationId });
  }
}
