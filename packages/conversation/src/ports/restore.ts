import { fromCallback } from "xstate";
import type { ChartContext, ConversationEvent, Outcome, PersistedChart, RestoreEvent, RunRow } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { watchHeartbeats } from "../streams/attachment.ts";
import { isUnavailable } from "../failures.ts";
import { requestOf } from "../commands/follow-up.ts";
import { opensRun } from "../commands/inbox.ts";
import { keepSaid, saidRow } from "../history/said.ts";
import { LiveRun } from "../activation/live-run.ts";
import { rememberEarlier } from "../streams/rebuild.ts";
import { keepPartialOf, partialRows } from "../steps/settle-step.ts";
import type { FindActivation, PortInput } from "./port.ts";

type Resume = Extract<RestoreEvent, { type: "restored" }>["resume"];

/** Decodes and validates the stored state and decides where to go on (lifecycle spec, section 7). */
export function bindRestore(find: FindActivation) {
  return fromCallback<ConversationEvent, PortInput>(({ input, sendBack }) => {
    let live = true;
    const send = (event: ConversationEvent): void => {
      if (live) sendBack(event);
    };
    queueMicrotask(() => {
      const activation = find(input.conversationId);
      if (!activation) return send({ type: "restore.failed" });
      restore(activation).then(
        (event) => {
          send(event);
          for (const run of activation.runs.values()) watchHeartbeats(activation, run);
          supersede(activation);
          // what could not be taken up is not there for the next one
          if (activation.ends)
            activation.beside(
              "rest",
              activation.commit(() => ({})),
            );
          activation.takenUp(event.type === "restored");
        },
        (error: unknown) => send({ type: isUnavailable(error) ? "store.unavailable" : "restore.failed" }),
      );
    });
    return () => (live = false);
  });
}

async function restore(activation: Activation): Promise<RestoreEvent> {
  const { chart, runs } = activation.stored;
  const fresh = activation.context;
  if (activation.foreign) return { type: "restore.failed" };
  if (activation.ends) return restoreAtRest(activation, activation.ends);
  if (!chart) return { type: "restored", context: null, resume: "idle" };
  if (!isContext(chart.context)) return { type: "restore.failed" };
  const { context } = chart;
  // one whose outcome is committed has ended: nobody is attached, a late transport is answered from the store
  const known = runs.find((row) => row.runId === context.runId && row.endedAt === undefined);
  // a Run that was accepted in the moment before the kill waits without the chart knowing it
  const waits = runs.findLast((row) => row.status === "waiting" && row !== known);
  const current = known ?? waits;
  const waiting = known ? waits : undefined;
  for (const row of [current, waiting]) if (row) revive(activation, row, runs);
  await endReplaced(
    activation,
    runs.filter((row) => row.status === "waiting" && row !== known && row !== waits),
  );
  const run = current ? activation.runs.get(current.runId) : undefined;
  const base: ChartContext = {
    ...fresh,
    ...context,
    ...(known || !waits ? {} : { ...opening, runId: waits.runId, runKind: waits.kind }),
    nextRunId: waiting?.runId ?? null,
    nextRunKind: waiting?.kind ?? "turn",
    nextParkDeadline: waiting ? activation.deps.clock.now() + activation.deps.settings.parkedRunTtlMs : 0,
    followUp: false,
    joins: activation.joins,
  };
  if (!run)
    return {
      type: "restored",
      context: { ...base, runId: null, outcome: null, stop: null, openCalls: 0 },
      resume: "idle",
    };
  const parkDeadline = base.parkDeadline || activation.deps.clock.now() + activation.deps.settings.parkedRunTtlMs;
  activation.deps.log.open(activation.conversationId, run.row.runId, activation.lease.fence);
  const resume = known ? await resumePoint(activation, run, chart) : "preparing";
  await rememberEarlier(activation, run, resume === "modeling");
  const step = resume === "modeling" && isInFlight(chart) ? Math.max(0, context.step - 1) : base.step;
  return { type: "restored", context: { ...base, parkDeadline, step, attempt: 0 }, resume };
}

/** What could not go on ends here, with what it had shown; the stored chart is not looked at. A Run that waited begins. */
async function restoreAtRest(activation: Activation, outcome: Outcome): Promise<RestoreEvent> {
  const open = activation.stored.runs.filter((row) => row.endedAt === undefined);
  const waits = open.findLast((row) => row.status === "waiting");
  await endReplaced(
    activation,
    open.filter((row) => row.status === "waiting" && row !== waits),
  );
  for (const row of open.filter(({ status }) => status !== "waiting")) await endStuck(activation, row, outcome);
  if (waits) revive(activation, waits, activation.stored.runs);
  const base = { ...activation.context, joins: activation.joins };
  if (!waits) return { type: "restored", context: base, resume: "idle" };
  const parkDeadline = activation.deps.clock.now() + activation.deps.settings.parkedRunTtlMs;
  activation.deps.log.open(activation.conversationId, waits.runId, activation.lease.fence);
  return {
    type: "restored",
    context: { ...base, runId: waits.runId, runKind: waits.kind, parkDeadline },
    resume: "preparing",
  };
}

async function endStuck(activation: Activation, row: RunRow, { kind: status, code }: Outcome): Promise<void> {
  const { runId } = row;
  await activation.loadHistory();
  const shown = partialRows(activation, row);
  const { head } = activation.history.view;
  const end = { status, endedAt: activation.deps.clock.now(), partial: null, ...(code ? { failureCode: code } : {}) };
  await activation.commit(() => ({
    ...shown,
    ...(head ? { head } : {}),
    runsChanged: [{ runId, ...end, ...(head ? { finalHead: head } : {}) }],
  }));
}

/** Runs whose place another one took in the moment before the kill. */
async function endReplaced(activation: Activation, replaced: readonly RunRow[]): Promise<void> {
  if (replaced.length === 0) return;
  const endedAt = activation.deps.clock.now();
  const inboxPut = replaced.flatMap((row) => (openerOf(activation, row) === undefined ? saidRow(activation, row) : []));
  const done = await activation.commit(() => ({
    inboxPut,
    runsChanged: replaced.map((row) => ({
      ...{ runId: row.runId, status: "superseded", failureCode: "SUPERSEDED", endedAt },
      // a follow-up that never came onto its stream: that stream has the end of the Run before it
      ...(openerOf(activation, row) === undefined ? {} : { generation: 0 }),
    })),
  }));
  if (done) keepSaid(activation, inboxPut, done);
}

const opening = {
  step: 0,
  openCalls: 0,
  outcome: null,
  stop: null,
  compacted: false,
  callDeadline: 0,
  parkDeadline: 0,
};

/** A turn that waited for a Run's end was asked for in its place. */
function supersede(activation: Activation): void {
  const { currentRun, waitingRun } = activation;
  if (currentRun && waitingRun?.row.kind === "turn")
    activation.send({ type: "run.superseded", runId: currentRun.row.runId });
}

async function resumePoint(activation: Activation, run: LiveRun, chart: PersistedChart): Promise<Resume> {
  switch (stateOf(chart)) {
    case "modeling":
      await keepPartialOf(activation, run);
      return run.row.kind === "summarize" ? "preparing" : "modeling";
    case "waitingTools": {
      const rows = await activation.deps.store.toolCalls(activation.lease, run.row.runId);
      return rows.some((row) => row.status === "open") ? "waitingTools" : "modeling";
    }
    case "interrupting":
      return "interrupting";
    case "checkpointing":
      return "checkpointing";
    case "finalizing":
      return "finalizing";
    default:
      return "preparing";
  }
}

/** The Step whose number the context has is under way: it is made again, and counted again when it begins. */
function isInFlight(chart: PersistedChart): boolean {
  const { value, context } = chart;
  if (typeof value === "string" || value["modeling"] === undefined) return false;
  // one that waits for its first attempt has not been counted
  return value["modeling"] !== "gate" || context.attempt > 0;
}

function stateOf(chart: PersistedChart): string {
  return typeof chart.value === "string" ? chart.value : (Object.keys(chart.value)[0] ?? "");
}

function revive(activation: Activation, row: RunRow, all: readonly RunRow[]): void {
  const before = all.find((other) => other.runId !== row.runId && other.acceptedAt <= row.acceptedAt);
  const own = requestOf(activation, { body: row.request }, bare(row));
  const earlier = before ? requestOf(activation, { body: before.request }, bare(before)) : undefined;
  const request = earlier && own ? requestOf(activation, { body: row.request }, earlier) : own;
  if (!request) throw new Error("the stored request of a Run cannot be read");
  const run = new LiveRun(row, request);
  run.accepted.resolve(true);
  run.restored = true;
  run.opener = openerOf(activation, row);
  activation.addRun(run);
}

/** The inbox row that a follow-up is opened for; none: a Run request opened it. */
function openerOf({ inbox }: Activation, row: RunRow): number | undefined {
  return inbox.find((waiting) => opensRun(waiting) && sameBytes(waiting.body, row.request))?.seq;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

const bare = (row: RunRow): LiveRun["request"] => ({
  state: new Uint8Array(),
  action: { kind: "resume" },
  model: { modelId: row.modelId, maxMode: false, parameters: {} },
  mcpTools: [],
  prefetched: [],
});

const shape: { readonly [K in keyof ChartContext]: (value: unknown) => boolean } = {
  conversationId: isString,
  fence: isNumber,
  maxAttempts: isNumber,
  maxSteps: isNumber,
  runId: isStringOrNull,
  runKind: (value) => value === "turn" || value === "summarize",
  step: isNumber,
  attempt: isNumber,
  retryAfterMs: isNumber,
  compacted: isBoolean,
  openCalls: isNumber,
  attached: isBoolean,
  asked: isBoolean,
  joins: isNumber,
  urgency: (value) => value === "border" || value === "settle" || value === "now",
  nextRunId: isStringOrNull,
  nextRunKind: (value) => value === "turn" || value === "summarize",
  nextAttached: isBoolean,
  nextAsked: isBoolean,
  followUp: isBoolean,
  outcome: isObjectOrNull,
  stop: isObjectOrNull,
  callDeadline: isNumber,
  parkDeadline: isNumber,
  nextParkDeadline: isNumber,
  release: isStringOrNull,
};

function isContext(value: unknown): value is ChartContext {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.entries(shape).every(([name, holds]) => holds((value as Record<string, unknown>)[name]))
  );
}
function isString(value: unknown): boolean {
  return typeof value === "string";
}
function isNumber(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value);
}
function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}
function isStringOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}
function isObjectOrNull(value: unknown): boolean {
  return typeof value === "object";
}
