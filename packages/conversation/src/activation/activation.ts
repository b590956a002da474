import { createActor, type ActorRefFrom } from "xstate";
import type { conversationMachine, cursorRunMachine } from "@chartroom/machines";
import type {
  Activation as StoredActivation,
  Barrier,
  ChartContext,
  CheckpointId,
  ConversationEvent,
  ConversationId,
  Generation,
  InboxRow,
  Lease,
  MemberId,
  Outcome,
  OutputKind,
  ParentConversationRef,
  PersistedChart,
  RunId,
  StateValue,
  StreamId,
} from "@chartroom/domain";
import { BranchWindow } from "../history/branch-window.ts";
import { CacheWatch } from "../history/cache-watch.ts";
import { chartVersion, isOwnChart } from "./chart-version.ts";
import { ClientStream, type StreamAppend } from "../streams/client-stream.ts";
import { joinsRun } from "../commands/inbox.ts";
import { ConversationHistory } from "../history/conversation-history.ts";
import { Deliveries } from "../streams/deliveries.ts";
import type { ConversationDeps } from "../deps.ts";
import { deferred, type Deferred } from "../deferred.ts";
import { FencedWrites, type Committed } from "./fenced-writes.ts";
import { failure, isUnavailable } from "../failures.ts";
import { faultText } from "../fault-text.ts";
import type { LearnedWindows } from "../history/learned-windows.ts";
import type { LiveRun } from "./live-run.ts";
import { SerialQueue } from "../serial-queue.ts";
import { Transitions } from "./transitions.ts";
import { endWaiting } from "./waiting-end.ts";
import { WireCheckpoint } from "../history/wire-checkpoint.ts";

type ConversationActor = ActorRefFrom<typeof conversationMachine>;
type CursorRunActor = ActorRefFrom<typeof cursorRunMachine>;

/** Who holds the activations of a process. */
export interface ActivationOwner {
  /** A conversation has come to rest. */
  rests(activation: Activation): void;
  /** An activation is over. */
  released(activation: Activation): void;
}

const NO_BYTES = new Uint8Array();
const NEW: Activation["stored"] = { created: true, chart: undefined, runs: [] };
const EMPTY: Activation["stored"] = { created: false, chart: undefined, runs: [] };
const NO_RUNS: ReadonlyMap<RunId, LiveRun> = new Map();
const NO_STREAMS: ReadonlyMap<StreamId, ClientStream> = new Map();

/** One conversation in memory, from its activation to its release: the actor, its ports' shared state, its writes. */
export class Activation {
  readonly deps: ConversationDeps;
  /** What the store had; once that is taken up, without what only the taking up needs. */
  stored: Pick<StoredActivation, "created" | "chart" | "runs">;
  readonly lease: Lease;
  readonly conversationId: ConversationId;
  readonly member: MemberId;
  readonly parent: ParentConversationRef | undefined;
  /** How the Runs end that could not go on before; `undefined`: what is stored goes on. */
  readonly ends: Outcome | undefined;
  /** What is stored is of another version of the server: nothing of it goes on here, and nothing is changed. */
  readonly foreign: boolean;
  /** The Run that ended last. */
  lastRun: LiveRun | undefined;
  /** Rows that wait, by `seq`. */
  readonly inbox: InboxRow[];
  readonly restored = deferred<boolean>();
  readonly actor: ConversationActor;
  readonly #writes: FencedWrites;
  readonly #transitions: Transitions;
  readonly #learned: LearnedWindows;
  readonly #owner: ActivationOwner;
  // made when a Run needs them: most conversations in memory only rest
  #runs: Map<RunId, LiveRun> | undefined;
  #streams: Map<StreamId, ClientStream> | undefined;
  #intake: SerialQueue | undefined;
  #seenKeys: Set<string> | undefined;
  #abort: AbortController | undefined;
  #history: ConversationHistory | undefined;
  #wire: WireCheckpoint | undefined;
  #window: BranchWindow | undefined;
  #cache: CacheWatch | undefined;
  #deliveries: Deliveries | undefined;
  #released: Deferred<void> | undefined;
  #ended = false;
  #faulted = false;

  constructor(
    deps: ConversationDeps,
    stored: StoredActivation,
    machine: typeof conversationMachine,
    learned: LearnedWindows,
    owner: ActivationOwner,
    clock: { setTimeout(fn: (...args: never[]) => void, ms: number): unknown; clearTimeout(id: never): void },
    ends?: Outcome,
  ) {
    this.deps = deps;
    this.stored = stored;
    this.ends = ends;
    this.foreign = stored.chart !== undefined && !isOwnChart(stored.chart);
    this.#learned = learned;
    this.#owner = owner;
    this.lease = stored.lease;
    this.conversationId = stored.lease.conversationId;
    this.member = stored.lease.member;
    this.parent = stored.parent;
    this.inbox = stored.inbox.filter((row) => row.state === "waiting");
    this.#writes = new FencedWrites(deps, stored.lease, stored.head, this);
    this.#transitions = new Transitions(this, this.#writes.journal);
    this.actor = createActor(machine, {
      id: this.conversationId,
      clock: clock,
      input: {
        conversationId: this.conversationId,
        fence: this.lease.fence,
        maxAttempts: deps.settings.maxAttempts,
        maxSteps: deps.settings.maxSteps,
      },
      inspect: (event) => this.#transitions.inspect(event),
    });
  }

  start(): void {
    this.actor.subscribe(this);
    this.actor.start();
  }

  get runs(): ReadonlyMap<RunId, LiveRun> {
    return this.#runs ?? NO_RUNS;
  }
  get streams(): ReadonlyMap<StreamId, ClientStream> {
    return this.#streams ?? NO_STREAMS;
  }
  addRun(run: LiveRun): void {
    if (!this.#runs) {
      this.#runs = new Map();
      this.actor.on("*", (told) => this.beside("end of a waiting Run", endWaiting(this, told)));
    }
    this.#runs.set(run.row.runId, run);
  }

  /** Idempotency keys that this activation has taken or rejected. */
  get seenKeys(): Set<string> {
    return (this.#seenKeys ??= new Set());
  }
  /** Commands, one after the other. */
  get intake(): SerialQueue {
    return (this.#intake ??= new SerialQueue());
  }
  /** Aborted when the activation ends, whatever ends it: every port listens to it. */
  get abort(): AbortController {
    return (this.#abort ??= new AbortController());
  }
  get history(): ConversationHistory {
    return (this.#history ??= new ConversationHistory());
  }
  get wire(): WireCheckpoint {
    return (this.#wire ??= new WireCheckpoint());
  }
  get window(): BranchWindow {
    return (this.#window ??= new BranchWindow(this.#learned, this.deps.clock));
  }
  get cache(): CacheWatch {
    return (this.#cache ??= new CacheWatch());
  }
  get context(): ChartContext {
    return this.actor.getSnapshot().context;
  }
  /** Resolves when the activation is over. */
  get released(): Promise<void> {
    if (this.#ended && !this.#released) return Promise.resolve();
    return (this.#released ??= deferred<void>()).promise;
  }
  get ended(): boolean {
    return this.#ended;
  }
  /** It ended by an error of the chart or by a bound that nothing else ends: what is stored would come to the same again. */
  get stuck(): boolean {
    const { release } = this.context;
    if (this.foreign) return false;
    return this.#faulted || release === "port-failed" || release === "restore-failed";
  }
  /** Where the Run is, as the command table knows it. */
  get phase(): "idle" | "active" | "ending" {
    const snapshot = this.actor.getSnapshot();
    if (snapshot.hasTag("active")) return "active";
    return snapshot.hasTag("ending") ? "ending" : "idle";
  }
  get currentRun(): LiveRun | undefined {
    const id = this.context.runId;
    return id === null ? undefined : this.runs.get(id as RunId);
  }
  get waitingRun(): LiveRun | undefined {
    const id = this.context.nextRunId;
    return id === null ? undefined : this.runs.get(id as RunId);
  }

  /** How many rows wait to join a Run that lives. */
  get joins(): number {
    return this.inbox.filter(joinsRun).length;
  }

  send(event: ConversationEvent): void {
    if (!this.#ended) this.actor.send(event);
  }

  childOf(runId: RunId): CursorRunActor | undefined {
    return this.actor.getSnapshot().children[`run:${runId}`] as CursorRunActor | undefined;
  }

  /** Whether this process may speak for the conversation: one that was frozen may have been robbed of it, and stops. */
  speaks(): boolean {
    if (this.deps.holdsLease()) return true;
    this.send({ type: "fence.lost" });
    return false;
  }

  // -- output

  append(
    run: LiveRun,
    kind: OutputKind,
    bytes: Uint8Array,
    more: { readonly streamId?: StreamId; readonly checkpoint?: CheckpointId } = {},
  ): void {
    if (!this.speaks()) return;
    this.deps.log.append({
      conversationId: this.conversationId,
      runId: run.row.runId,
      fence: this.lease.fence,
      kind,
      bytes,
      ...more,
    });
  }

  streamAppend(run: LiveRun): StreamAppend {
    return (kind, bytes, streamId) => this.append(run, kind, bytes, { streamId });
  }

  /** The stream of a generation; made when the generation's Run is known. */
  stream(generation: Generation, run: LiveRun): ClientStream {
    const streams = (this.#streams ??= new Map());
    let stream = streams.get(generation.streamId);
    if (!stream) streams.set(generation.streamId, (stream = new ClientStream(generation, run.row.runId)));
    return stream;
  }

  /** What was stored goes on here, or cannot (`false`). */
  takenUp(done: boolean): void {
    // a conversation may rest for long, and a request is as long as its conversation
    const { created, runs } = this.stored;
    const rows = runs.map((row) => (row.endedAt === undefined ? row : { ...row, request: NO_BYTES }));
    this.stored = rows.length > 0 ? { created, chart: undefined, runs: rows } : created ? NEW : EMPTY;
    this.restored.resolve(done);
  }

  /** Gives back what only a Run needs; the next one loads it again. */
  slim(): void {
    if (this.phase !== "idle") return;
    this.#history = undefined;
    this.#wire = undefined;
    this.#window?.rest();
    this.#cache = undefined;
    if (this.lastRun) this.lastRun.compiled = undefined;
  }

  /** Forgets Runs that ended before `beforeMs`, and their streams; the store has them. */
  forgetEnded(beforeMs: number): void {
    for (const [runId, run] of this.runs) {
      if (!run.ended || run === this.lastRun || (run.row.endedAt ?? 0) >= beforeMs) continue;
      this.#runs?.delete(runId);
      for (const [streamId, stream] of this.streams) if (stream.runId === runId) this.#streams?.delete(streamId);
    }
  }

  // -- writes

  get deliveries(): Deliveries {
    return (this.#deliveries ??= new Deliveries());
  }
  /** How many of its deliveries a client knows that is heard now. */
  get heard(): number {
    return this.deliveries.heardAt(this.deps.clock.now());
  }

  /** A checkpoint went out on a stream with this round trip and its blobs are acknowledged; written with the next barrier. */
  delivered(head: CheckpointId, roundTripMs = 0): void {
    this.deliveries.add(head, this.deps.clock.now(), roundTripMs);
    this.history.markDelivered(head);
    this.#writes.delivered(head);
  }

  /** A Run's terminal went out to an attached transport. */
  runDelivered(runId: RunId): void {
    this.#writes.runDelivered(runId);
  }

  /** Reads the history of the committed head, unless it is in memory. */
  loadHistory(): Promise<void> {
    return this.history.load(this.deps.store, this.lease, this.#writes.head);
  }

  /** Commits what `make` gives when its turn comes; `undefined`: the activation is over, nothing was written. */
  commit(make: () => Barrier): Promise<Committed | undefined> {
    return this.#writes.commit(make);
  }

  /** Work that nobody waits for: what fails is told, but for a store that is away, which ends the activation by itself. */
  beside(what: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (isUnavailable(error)) return;
      const message = `${what}: ${faultText(error)}`;
      this.deps.events({ type: "chart.error", conversationId: this.conversationId, message });
    });
  }

  /** When all writes that are queued now are done. */
  written(): Promise<void> {
    return this.#writes.settled();
  }

  chart(): PersistedChart {
    const snapshot = this.actor.getSnapshot();
    return { machine: "conversation", version: chartVersion, value: snapshot.value, context: snapshot.context };
  }

  /** What is written while the stored state is being decoded leaves it as it is. */
  chartToWrite(): PersistedChart | undefined {
    return this.#transitions.value === "restoring" ? undefined : this.chart();
  }

  // -- the actor's own life

  /** The chart took an event. */
  moved(from: StateValue, to: StateValue): void {
    if (to === "idle" && from !== "idle") queueMicrotask(() => this.#rest(from));
  }

  /** After a Run the store learns that the conversation rests, with the last rows of the journal; no answer waits for it. */
  #rest(from: StateValue): void {
    if (from !== "restoring")
      this.beside(
        "rest",
        this.commit(() => ({ unawaited: true })),
      );
    this.#owner.rests(this);
  }

  /** The actor broke. */
  error(error: unknown): void {
    this.deps.events({
      type: "chart.error",
      conversationId: this.conversationId,
      message: faultText(error),
    });
    this.#faulted = true;
    this.complete();
  }

  /** The actor is over. */
  complete(): void {
    if (this.#ended) return;
    this.#ended = true;
    const release = this.actor.getSnapshot().context?.release ?? "port-failed";
    this.#abort?.abort();
    for (const run of this.runs.values()) {
      run.board?.dispose();
      run.accepted.resolve(false);
      run.stopped.resolve(false);
      // a node that was robbed of the conversation says nothing; one that cannot reach its store says so
      if (release === "fence-lost" || !this.deps.holdsLease()) run.attached?.drop();
      else run.attached?.terminal({ kind: "error", failure: failure("STORE_UNAVAILABLE") });
    }
    if (release === "fence-lost")
      this.deps.events({ type: "conversation.fenced", conversationId: this.conversationId });
    else this.deps.events({ type: "conversation.passivated", conversationId: this.conversationId });
    this.deps.log.drop(this.conversationId);
    this.restored.resolve(false);
    // before all that wait for it
    queueMicrotask(() => this.#owner.released(this));
    this.#released?.resolve();
  }
}
