import { describe, expect, it } from "vitest";
import type { ConversationEvent } from "@chartroom/domain";
import {
  bounds,
  type ChartOptions,
  conversationIn,
  events,
  type OpenConversation,
  restored,
  type State,
  states,
} from "./test/conversation-chart.ts";
import { specTable } from "./test/spec-table.ts";

/** How a row of the table is brought about in a state. */
interface Row {
  readonly kind?: "turn" | "summarize";
  readonly options?: ChartOptions;
  /** Another way into a state than the shortest one. */
  readonly reach?: Partial<Record<State, () => OpenConversation>>;
  /** The condition. Where it would itself leave the state, the row is looked at without it. */
  readonly before?: readonly ConversationEvent[];
  readonly act: (chart: OpenConversation, state: State) => void;
}

const send =
  (...list: readonly ConversationEvent[]) =>
  (chart: OpenConversation): void =>
    chart.send(...list);
const waits = [events.requested("r2")];
const filled = [events.filled("border")];
const parked = [events.parked()];
const cancel = events.of("cancel");
const published: ConversationEvent = { type: "checkpoint.published", runId: "r1", delivered: true };
const calls: ConversationEvent = { type: "model.toolCalls", runId: "r1", calls: 2 };
const code = "PROVIDER_SERVER" as const;

const boundOf: Readonly<Partial<Record<State, keyof typeof bounds>>> = {
  res: "restoreLimit",
  idl: "passivateAfter",
  pre: "prepareLimit",
  prp: "parkedGateLimit",
  gat: "parkedGateLimit",
  str: "modelLimit",
  ret: "retryDelay",
  cga: "parkedGateLimit",
  sum: "modelLimit",
  cco: "commitLimit",
  rec: "commitLimit",
  wat: "callDeadline",
  exp: "commitLimit",
  sto: "interruptLimit",
  app: "commitLimit",
  cpt: "commitLimit",
  pub: "ackLimit",
  fin: "commitLimit",
  clo: "closeLimit",
};
const portOf: Readonly<Partial<Record<State, string>>> = {
  res: "restore",
  pre: "prepare",
  str: "streamModel",
  sum: "summarize",
  cco: "commitCompaction",
  rec: "recordStep",
  wat: "dispatchTools",
  exp: "expireCalls",
  sto: "stopWork",
  app: "appendInbox",
  cpt: "commitCheckpoint",
  pub: "publishCheckpoint",
  fin: "finalizeRun",
  clo: "closeRun",
};

/** Both Run-scoped variants of an event: the Run that lives, the one that waits. */
const scoped = (type: "run.attached" | "run.parked" | "park.expired" | "capacity.evicted"): Record<string, Row> => {
  const event = (runId: string): ConversationEvent =>
    type === "run.parked" ? events.parked(runId) : events.of(type, runId);
  return {
    [`${type} · current Run`]: { act: send(event("r1")) },
    [`${type} · waiting Run`]: { before: waits, act: send(event("r2")) },
  };
};
const restores = (resume: Parameters<typeof restored>[1], change: Parameters<typeof restored>[2] = {}): Row => ({
  act: (chart) => chart.send(restored(chart, resume, change)),
});

const rows: Readonly<Record<string, Row>> = {
  "restored · to idle": restores("idle"),
  "restored · to preparing": restores("preparing"),
  "restored · to modeling": restores("modeling"),
  "restored · to waitingTools": restores("waitingTools"),
  "restored · to interrupting": restores("interrupting"),
  "restored · to checkpointing": restores("checkpointing"),
  "restored · to finalizing": restores("finalizing"),
  "restored · to modeling, inbox filled": restores("modeling", { joins: 1 }),
  "restored · with a stop flagged": restores("modeling", { stop: { kind: "cancelled", code: "CANCELLED" } }),
  "restore.failed": { act: send({ type: "restore.failed" }) },
  "run.requested · nothing waits": { act: (chart) => chart.send(events.requested("r2")) },
  "run.requested · one waits": { before: waits, act: send(events.requested("r3")) },
  "inbox.filled · nothing joins": { act: send(events.filled("now", 0)) },
  "inbox.filled · border": { act: send(events.filled("border")) },
  "inbox.filled · settle": { act: send(events.filled("settle")) },
  "inbox.filled · now": { act: send(events.filled("now")) },
  "cancel · current Run": { act: send(cancel) },
  "cancel · waiting Run": { before: waits, act: send(events.of("cancel", "r2")) },
  "cancel · another Run": { act: send(events.of("cancel", "other")) },
  "run.superseded · current Run": { act: send(events.of("run.superseded")) },
  "run.superseded · another Run": { act: send(events.of("run.superseded", "other")) },
  "passivate · attached": { act: send({ type: "passivate" }) },
  "passivate · no transport": { before: parked, act: send({ type: "passivate" }) },
  "passivate · no transport, one waits attached": {
    before: [...parked, ...waits, events.attached("r2")],
    act: send({ type: "passivate" }),
  },
  ...scoped("run.attached"),
  ...scoped("run.parked"),
  ...scoped("park.expired"),
  ...scoped("capacity.evicted"),
  "prepared · attached": { act: send(events.prepared()) },
  "prepared · no transport": { before: parked, act: send(events.prepared()) },
  "prepared · no transport, opened by the inbox": {
    reach: {
      prp: () => {
        const chart = conversationIn("idl");
        chart.send(events.requested("r1", { asked: true }));
        return chart;
      },
    },
    act: send(events.prepared()),
  },
  "prepared · inbox filled": { act: send(events.prepared(1)) },
  "prepared · summarize Run, attached": { kind: "summarize", act: send(events.prepared(1)) },
  "prepared · summarize Run, no transport": { kind: "summarize", before: parked, act: send(events.prepared()) },
  "prepare.failed": { act: send({ type: "prepare.failed", runId: "r1", code: "MODEL_NOT_FOUND" }) },
  "model.toolCalls": { act: send(calls) },
  "model.completed · inbox empty": { act: send(events.of("model.completed")) },
  "model.completed · inbox filled": { before: filled, act: send(events.of("model.completed")) },
  "model.failed · retryable, attempts left": { act: send(events.failed(true)) },
  "model.failed · retryable, last attempt": { options: { input: { maxAttempts: 1 } }, act: send(events.failed(true)) },
  "model.failed · not retryable": { act: send(events.failed(false)) },
  "model.overflowed · first, attached": { act: send(events.of("model.overflowed")) },
  "model.overflowed · first, no transport": { before: parked, act: send(events.of("model.overflowed")) },
  "model.overflowed · again": {
    before: [events.of("model.overflowed"), events.of("compaction.summarized"), events.of("compaction.committed")],
    act: send(events.of("model.overflowed")),
  },
  "compaction.summarized": { act: send(events.of("compaction.summarized")) },
  "compaction.failed": { act: send({ type: "compaction.failed", runId: "r1", code }) },
  "compaction.committed · attached": { act: send(events.of("compaction.committed")) },
  "compaction.committed · no transport": { before: parked, act: send(events.of("compaction.committed")) },
  "compaction.committed · inbox filled": { before: filled, act: send(events.of("compaction.committed")) },
  "compaction.committed · summarize Run": {
    kind: "summarize",
    before: filled,
    act: send(events.of("compaction.committed")),
  },
  "compaction.committed · stop flagged": { before: [cancel], act: send(events.of("compaction.committed")) },
  "step.recorded": { act: send(events.recorded()) },
  "step.recorded · inbox says settle": { before: [events.filled("settle")], act: send(events.recorded()) },
  "step.recorded · inbox says now": { before: [events.filled("now")], act: send(events.recorded()) },
  "step.recorded · stop flagged": { before: [cancel], act: send(events.recorded()) },
  "tool.settled · calls left": { act: send(events.settled(1)) },
  "tool.settled · last, attached": { act: send(events.settled(0)) },
  "tool.settled · last, no transport": { before: parked, act: send(events.settled(0)) },
  "tool.settled · last, inbox filled": { before: filled, act: send(events.settled(0)) },
  "tool.settled · last, at the step limit": { options: { input: { maxSteps: 1 } }, act: send(events.settled(0)) },
  "tool.renewed": { act: send({ type: "tool.renewed", runId: "r1", callDeadline: 2 * bounds.callDeadline }) },
  "work.stopped": { act: send(events.of("work.stopped")) },
  "interrupt.settled · attached": { act: send(events.joined()) },
  "interrupt.settled · no transport": { before: parked, act: send(events.joined()) },
  "interrupt.settled · more joins": { act: send(events.joined(1)) },
  "interrupt.settled · stop flagged": { before: [cancel], act: send(events.joined(1)) },
  "checkpoint.committed · attached": { act: send(events.of("checkpoint.committed")) },
  "checkpoint.committed · no transport": { before: parked, act: send(events.of("checkpoint.committed")) },
  "checkpoint.committed · superseded": {
    reach: {
      cpt: () => {
        const chart = conversationIn("str");
        chart.send(events.of("run.superseded"));
        return chart;
      },
    },
    act: send(events.of("checkpoint.committed")),
  },
  "checkpoint.published": { act: send(published) },
  "run.finalized": { act: send(events.of("run.finalized")) },
  "run.closed · nothing waits": { act: send(events.of("run.closed")) },
  "run.closed · one waits": { before: waits, act: send(events.of("run.closed")) },
  "store.unavailable": { act: send({ type: "store.unavailable" }) },
  "fence.lost": { act: send({ type: "fence.lost" }) },
  "port.failed": { act: send({ type: "port.failed", port: "any" }) },
  // the port of the state is invoked when the state is reached
  "the port throws": { act: () => undefined },
  "the bound passes": {
    act: (chart, state) => {
      const bound = bounds[boundOf[state] ?? "restoreLimit"];
      const before = chart.state;
      chart.clock.increment(bound - 1);
      expect(chart.state).toBe(before);
      chart.clock.increment(1);
    },
  },
  "an unknown event": { act: send({ type: "no.such.event" } as never) },
};

/** A chart in the state as the row wants it; where its options lead elsewhere the row is looked at without them. */
function open({ kind = "turn", options = {}, reach = {}, before = [] }: Row, state: State): OpenConversation {
  const reached = reach[state];
  const ways = [() => (reached ? reached() : conversationIn(state, { ...options, kind })), () => conversationIn(state)];
  for (const way of ways) {
    const chart = way();
    if (chart.state !== states[state]) continue;
    chart.send(...before);
    if (chart.state === states[state]) return chart;
  }
  return conversationIn(state);
}

/** What the chart does with a row in a state, in the words of the table. */
function cellOf(label: string, state: State): string {
  const row = rows[label];
  if (!row) throw new Error("no such row");
  const port = portOf[state];
  if (label === "the port throws") return port ? shortOf(conversationIn(state, { throws: port }).state) : "×";
  const chart = open(row, state);
  const context = { ...chart.context };
  const unhandled = chart.unhandled.length;
  const reentered = chart.reentered.length;
  row.act(chart, state);
  expect(chart.errors).toEqual([]);
  if (chart.state !== states[state]) return shortOf(chart.state);
  if (chart.unhandled.length > unhandled) {
    expect(chart.context, "an event that nobody takes changes nothing").toEqual(context);
    return "·";
  }
  return chart.reentered.length > reentered ? "↻" : "=";
}

/** Rows that speak of a Run where none lives, and of a transport that the state itself tells there is, or is not. */
function cannotBe(label: string, state: State): boolean {
  const ofRun = / · (?:current|waiting) Run$/u.test(label) || / · (?:no transport, )?one waits/u.test(label);
  if (ofRun && !label.startsWith("run.closed")) return state === "res" || state === "idl";
  if (label === "passivate · attached") return state === "prp" || state === "gat" || state === "cga";
  if (!label.startsWith("prepared · ") || label.endsWith("inbox filled")) return false;
  return state === (label.includes("no transport") ? "pre" : "prp");
}

const shortOf = (id: string): string => (Object.keys(states) as State[]).find((short) => states[short] === id) ?? id;

const table = specTable("conversation.spec.md", "2 States × events");
const columns = Object.keys(states).filter((short) => short !== "rel") as State[];

describe("the states × events table of conversation.spec.md", () => {
  it("has a row for each that is tested here, and a column for each state", () => {
    expect(table.map(({ label }) => label)).toEqual(Object.keys(rows));
    for (const { cells } of table) expect(Object.keys(cells)).toEqual(columns);
  });

  it.each(table)("$label", ({ label, cells }) => {
    const found = columns.map((state) => [state, cannotBe(label, state) ? "×" : cellOf(label, state)] as const);
    expect(Object.fromEntries(found)).toEqual(cells);
  });
});
