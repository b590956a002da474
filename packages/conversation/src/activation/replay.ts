import { isDeepStrictEqual } from "node:util";
import { type ActorRefFrom, createActor, fromCallback } from "xstate";
import { conversationMachine } from "@chartroom/machines";
import type {
  ChartContext,
  ConversationEvent,
  ConversationInput,
  ConversationView,
  LifecycleEvent,
  PersistedChart,
  StateValue,
} from "@chartroom/domain";
import { chartVersion } from "./chart-version.ts";

/** The row of the journal where a replay went another way; absent for what concerns the stored chart as a whole. */
export interface ReplayDifference {
  readonly row?: LifecycleEvent;
  /** In words, without content. */
  readonly reason: string;
  readonly recorded?: StateValue;
  readonly reached?: StateValue;
}

export type ReplayResult =
  | { readonly ok: true; readonly activations: number; readonly events: number; readonly state: StateValue | undefined }
  | { readonly ok: false; readonly difference: ReplayDifference };

/**
 * Runs the recorded events through the chart again, with ports that do nothing and timers that never fire (their events are
 * in the journal), and compares each state with the recorded one; at the end, state and context with the stored chart.
 * Each activation begins anew with its restore.
 */
export function replay({ journal, chart }: Pick<ConversationView, "journal" | "chart">): ReplayResult {
  if (chart && chart.version !== chartVersion)
    return differs({ reason: `the stored chart is of version ${chart.version}, this one is version ${chartVersion}` });
  const activations = [...Map.groupBy(journal, (row) => row.fence).values()];
  let last: Reached | undefined;
  for (const rows of activations) {
    const outcome = replayActivation(rows.toSorted((a, b) => a.seq - b.seq));
    if (!outcome.ok) return outcome;
    last = outcome.reached;
  }
  const stored = last && chart && compareStored(last, chart);
  return stored
    ? differs(stored)
    : { ok: true, activations: activations.length, events: journal.length, state: last?.value };
}

type Reached = { readonly value: StateValue; readonly context: ChartContext };
type Outcome =
  | { readonly ok: true; readonly reached: Reached }
  | { readonly ok: false; readonly difference: ReplayDifference };

const differs = (difference: ReplayDifference): { readonly ok: false; readonly difference: ReplayDifference } => ({
  ok: false,
  difference,
});

function replayActivation(rows: readonly LifecycleEvent[]): Outcome {
  const [first] = rows;
  if (first?.seq !== 1 || first.event.type !== "xstate.init")
    return differs({
      reason: "the journal of an activation does not begin with its start",
      ...(first && { row: first }),
    });
  const actor = createActor(inertMachine, { clock: stoppedClock, input: first.event["input"] as ConversationInput });
  let failed = false;
  actor.subscribe({ error: () => (failed = true) });
  actor.start();
  try {
    for (const [index, row] of rows.entries()) {
      if (row.seq !== index + 1) return differs({ reason: `row ${index + 1} is missing`, row });
      const before = index === 0 ? row.from : valueOf(actor);
      if (!isDeepStrictEqual(before, row.from))
        return differs({ reason: "the row begins in another state", row, recorded: row.from, reached: before });
      if (index > 0) {
        if (actor.getSnapshot().status !== "active")
          return differs({ reason: "the chart had ended before", row, recorded: row.to, reached: before });
        actor.send(row.event as ConversationEvent);
      }
      if (failed) return differs({ reason: "the chart failed", row, recorded: row.to });
      const after = valueOf(actor);
      if (!isDeepStrictEqual(after, row.to))
        return differs({ reason: "the event leads to another state", row, recorded: row.to, reached: after });
    }
    return { ok: true, reached: { value: valueOf(actor), context: actor.getSnapshot().context } };
  } finally {
    actor.stop();
  }
}

function compareStored(reached: Reached, chart: PersistedChart): ReplayDifference | undefined {
  if (!isDeepStrictEqual(reached.value, chart.value))
    return { reason: "the stored state is another one", recorded: chart.value, reached: reached.value };
  const names = Object.keys(reached.context) as (keyof ChartContext)[];
  const other = names.filter((name) => !isDeepStrictEqual(reached.context[name], chart.context[name]));
  return other.length === 0
    ? undefined
    : { reason: `the stored context differs in ${other.join(", ")}`, recorded: chart.value, reached: reached.value };
}

const valueOf = (actor: ActorRefFrom<typeof conversationMachine>): StateValue => actor.getSnapshot().value;

/** Delayed events are in the journal, so the clock never fires. */
const stoppedClock = { setTimeout: () => 0, clearTimeout: () => undefined };

const inert = fromCallback(() => undefined) as never;
const never = () => 2 ** 31 - 1;
const inertMachine = conversationMachine.provide({
  actors: {
    restore: inert,
    prepare: inert,
    streamModel: inert,
    summarize: inert,
    commitCompaction: inert,
    recordStep: inert,
    dispatchTools: inert,
    stopWork: inert,
    appendInbox: inert,
    commitCheckpoint: inert,
    publishCheckpoint: inert,
    finalizeRun: inert,
    closeRun: inert,
    expireCalls: inert,
    cursorRun: inert,
  },
  delays: {
    restoreLimit: never,
    passivateAfter: never,
    prepareLimit: never,
    modelLimit: never,
    retryDelay: never,
    parkedGateLimit: never,
    callDeadline: never,
    interruptLimit: never,
    commitLimit: never,
    ackLimit: never,
    closeLimit: never,
  },
});
