import { type AnyActorRef, createActor, fromCallback, SimulatedClock } from "xstate";
import type {
  ChartContext,
  ConversationEmitted,
  ConversationEvent,
  ConversationInput,
  CursorRunInput,
  Outcome,
  RestoreEvent,
} from "@chartroom/domain";
import { conversationMachine } from "../conversation.machine.ts";

/** The bounds as the tests set them; all different, so that a test sees which one it was. */
export const bounds = {
  restoreLimit: 10_000,
  passivateAfter: 600_000,
  prepareLimit: 60_000,
  modelLimit: 1_800_000,
  retryDelay: 700,
  parkedGateLimit: 930_000,
  callDeadline: 86_400_000,
  interruptLimit: 11_000,
  commitLimit: 40_000,
  ackLimit: 30_000,
  closeLimit: 31_000,
} as const;

/** A port as it was invoked by the chart: silent until the test speaks for it. */
export interface InvokedPort {
  readonly name: string;
  readonly input: { readonly conversationId: string; readonly runId: string; readonly step: number };
  /** False once the state that invoked it was left. */
  live: boolean;
}

/** A Run's child as the chart spawned it. */
export interface SpawnedRun {
  readonly input: CursorRunInput;
  live: boolean;
}

export interface ChartOptions {
  readonly input?: Partial<ConversationInput>;
  /** This port throws when it is invoked. */
  readonly throws?: string;
}

const portNames = [
  "restore",
  "prepare",
  "streamModel",
  "summarize",
  "commitCompaction",
  "recordStep",
  "dispatchTools",
  "stopWork",
  "appendInbox",
  "commitCheckpoint",
  "publishCheckpoint",
  "finalizeRun",
  "closeRun",
  "expireCalls",
] as const;

/** What the ports of one chart leave behind. */
interface Traces {
  readonly clock: SimulatedClock;
  readonly ports: InvokedPort[];
  readonly runs: SpawnedRun[];
  readonly throws: string | undefined;
}
const traces = new WeakMap<AnyActorRef, Traces>();
const tracesOf = (chart: AnyActorRef | undefined): Traces => {
  const found = chart && traces.get(chart);
  if (!found) throw new Error("not a chart of openConversation");
  return found;
};

const port = (name: string) =>
  fromCallback<ConversationEvent, InvokedPort["input"]>(({ input, self }) => {
    const { ports, throws } = tracesOf(self._parent);
    const invoked: InvokedPort = { name, input, live: true };
    ports.push(invoked);
    if (name === throws) throw new Error(`${name} throws`);
    return () => (invoked.live = false);
  });
const machine = conversationMachine.provide({
  actors: {
    ...(Object.fromEntries(portNames.map((name) => [name, port(name)])) as Record<
      (typeof portNames)[number],
      ReturnType<typeof port>
    >),
    cursorRun: fromCallback<ConversationEvent, CursorRunInput>(({ input, self }) => {
      const run: SpawnedRun = { input, live: true };
      tracesOf(self._parent).runs.push(run);
      return () => (run.live = false);
    }),
  },
  delays: {
    ...bounds,
    retryDelay: ({ context }) => context.retryAfterMs,
    callDeadline: ({ context, self }) => context.callDeadline - tracesOf(self).clock.now(),
  },
});

/** The conversation chart alone: inert ports, a simulated clock, children that only remember. Not started yet. */
export function openConversation({ input = {}, throws }: ChartOptions = {}) {
  const clock = new SimulatedClock();
  const ports: InvokedPort[] = [];
  const runs: SpawnedRun[] = [];
  const emitted: ConversationEmitted[] = [];
  const unhandled: string[] = [];
  const reentered: string[] = [];
  const errors: unknown[] = [];
  const actor = createActor(machine, {
    clock,
    input: { conversationId: "c", fence: 7, maxAttempts: 3, maxSteps: 20, ...input },
    inspect: (event) => {
      if (event.type !== "@xstate.microstep" || event.actorRef !== actor) return;
      if (event._transitions.length === 0) unhandled.push(event.event.type);
      else if (event._transitions.some(({ reenter }) => reenter)) reentered.push(event.event.type);
    },
  });
  traces.set(actor, { clock, ports, runs, throws });
  actor.on("*", (event) => emitted.push(event));
  actor.subscribe({ error: (error) => errors.push(error) });
  return {
    actor,
    clock,
    ports,
    runs,
    emitted,
    /** Types of the events that no transition took. */
    unhandled,
    /** Types of the events by which a state was entered anew. */
    reentered,
    errors,
    get context(): ChartContext {
      return actor.getSnapshot().context;
    },
    /** The id of the innermost state. */
    get state(): string {
      return actor.getSnapshot()._nodes.find((node) => node.type === "atomic" || node.type === "final")?.id ?? "";
    },
    /** Ports that work now, by name. */
    get working(): readonly string[] {
      return ports.flatMap(({ name, live }) => (live ? [name] : []));
    },
    /** Ids of the Runs whose child lives. */
    get children(): readonly string[] {
      return runs.flatMap(({ input: given, live }) => (live ? [given.runId] : []));
    },
    send: (...events: readonly ConversationEvent[]) => events.forEach((event) => actor.send(event)),
    /** Why the activation ended. */
    get release() {
      return actor.getSnapshot().output;
    },
  };
}
export type OpenConversation = ReturnType<typeof openConversation>;

/** Events as the tests send them; `r1` is the current Run, `r2` the one that waits. */
export const events = {
  requested: (runId: string, more: Partial<Extract<ConversationEvent, { type: "run.requested" }>> = {}) =>
    ({
      type: "run.requested",
      runId,
      kind: "turn",
      followUp: false,
      asked: false,
      parkDeadline: 900_000,
      ...more,
    }) as const,
  filled: (urgency: "border" | "settle" | "now", joins = 1) => ({ type: "inbox.filled", joins, urgency }) as const,
  attached: (runId = "r1") => ({ type: "run.attached", runId }) as const,
  parked: (runId = "r1") => ({ type: "run.parked", runId, parkDeadline: 900_000 }) as const,
  prepared: (joins = 0) => ({ type: "prepared", runId: "r1", joins }) as const,
  failed: (retryable: boolean) =>
    ({
      type: "model.failed",
      runId: "r1",
      code: "PROVIDER_SERVER",
      retryable,
      retryAfterMs: bounds.retryDelay,
    }) as const,
  recorded: (open = 2) => ({ type: "step.recorded", runId: "r1", open, callDeadline: bounds.callDeadline }) as const,
  settled: (open: number) =>
    ({ type: "tool.settled", runId: "r1", callId: "call", open, callDeadline: bounds.callDeadline }) as const,
  joined: (joins = 0) => ({ type: "interrupt.settled", runId: "r1", joins }) as const,
  of: (type: ConversationEvent["type"], runId = "r1") => ({ type, runId }) as ConversationEvent,
} as const;

/** A `restored` event: what the store kept, with the changes that a test makes. */
export function restored(
  chart: OpenConversation,
  resume: Extract<RestoreEvent, { type: "restored" }>["resume"],
  change: Partial<ChartContext> = {},
): ConversationEvent {
  const run = resume === "idle" ? {} : { runId: "r1", step: 2, parkDeadline: 500_000 };
  return { type: "restored", resume, context: { ...chart.context, ...run, ...change } };
}

/** The innermost states, by the short names of the table in `conversation.spec.md`. */
export const states = {
  res: "restoring",
  idl: "idle",
  pre: "preparingAttached",
  prp: "preparingParked",
  gat: "gate",
  str: "streaming",
  ret: "retrying",
  cga: "compactionGate",
  sum: "summarizing",
  cco: "compactionCommit",
  rec: "recording",
  wat: "watching",
  exp: "expiring",
  sto: "stopping",
  app: "appending",
  cpt: "checkpointCommit",
  pub: "publishing",
  fin: "finalCommit",
  clo: "closing",
  rel: "released",
} as const;
export type State = keyof typeof states;

/** How a state is reached from the one before; the first transport comes while the Run is prepared. */
const steps: Readonly<
  Record<State, { readonly from?: State; readonly by: (chart: OpenConversation, kind: "turn" | "summarize") => void }>
> = {
  res: { by: (chart) => chart.actor.start() },
  idl: { from: "res", by: (chart) => chart.send(restored(chart, "idle")) },
  pre: { from: "idl", by: (chart, kind) => chart.send(events.requested("r1", { kind }), events.attached()) },
  prp: { from: "pre", by: (chart) => chart.send(events.parked()) },
  gat: { from: "prp", by: (chart) => chart.send(events.prepared()) },
  str: { from: "pre", by: (chart) => chart.send(events.prepared()) },
  ret: { from: "str", by: (chart) => chart.send(events.failed(true)) },
  cga: { from: "str", by: (chart) => chart.send(events.parked(), events.of("model.overflowed")) },
  sum: {
    from: "pre",
    by: (chart, kind) => chart.send(events.prepared(), ...(kind === "turn" ? [events.of("model.overflowed")] : [])),
  },
  cco: { from: "sum", by: (chart) => chart.send(events.of("compaction.summarized")) },
  rec: { from: "str", by: (chart) => chart.send({ type: "model.toolCalls", runId: "r1", calls: 2 }) },
  wat: { from: "rec", by: (chart) => chart.send(events.recorded()) },
  exp: { from: "wat", by: (chart) => chart.clock.increment(bounds.callDeadline) },
  sto: { from: "str", by: (chart) => chart.send(events.filled("now")) },
  app: { from: "sto", by: (chart) => chart.send(events.of("work.stopped")) },
  cpt: { from: "str", by: (chart) => chart.send(events.of("model.completed")) },
  pub: { from: "cpt", by: (chart) => chart.send(events.of("checkpoint.committed")) },
  fin: { from: "pub", by: (chart) => chart.send({ type: "checkpoint.published", runId: "r1", delivered: true }) },
  clo: { from: "fin", by: (chart) => chart.send(events.of("run.finalized")) },
  rel: { from: "idl", by: (chart) => chart.send({ type: "passivate" }) },
};

/** Brings a chart to a state by its shortest way. */
export function bringTo(chart: OpenConversation, state: State, kind: "turn" | "summarize" = "turn"): OpenConversation {
  const { from, by } = steps[state];
  if (from) bringTo(chart, from, kind);
  by(chart, kind);
  return chart;
}

/** A chart in a state. */
export function conversationIn(
  state: State,
  options: ChartOptions & { readonly kind?: "turn" | "summarize" } = {},
): OpenConversation {
  return bringTo(openConversation(options), state, options.kind);
}

/** States of a Run that is being carried out and takes stops at once; commit substates; states of a Run that ends. */
export const active: readonly State[] = ["pre", "prp", "gat", "str", "ret", "cga", "sum", "wat", "exp", "sto"];
export const commits: readonly State[] = ["cco", "rec", "app"];
export const ending: readonly State[] = ["cpt", "pub", "fin", "clo"];
export const withRun: readonly State[] = [...active, ...commits, ...ending];

export const cancelled: Outcome = { kind: "cancelled", code: "CANCELLED" };
export const expired: Outcome = { kind: "failed", code: "PARK_EXPIRED" };
export const completed: Outcome = { kind: "completed", code: null };
/** What stops a Run from outside, with the outcome that it means. */
export const stops = [
  ["cancel", cancelled],
  ["run.superseded", { kind: "superseded", code: "SUPERSEDED" }],
  ["park.expired", expired],
  ["capacity.evicted", { kind: "failed", code: "PARK_CAPACITY" }],
] as const;

/** The id of a state. */
export const idOf = (state: State): string => states[state];
