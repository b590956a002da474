import { describe, expect, it } from "vitest";
import type { ConversationEvent } from "@chartroom/domain";
import { conversationMachine } from "./conversation.machine.ts";
import {
  bounds,
  bringTo,
  conversationIn,
  events,
  idOf,
  openConversation,
  type OpenConversation,
  type State,
  states,
  withRun,
} from "./test/conversation-chart.ts";

describe("inbox", () => {
  it("I8 at every border what waits joins before the next model call", () => {
    const borders: readonly (readonly [State, readonly ConversationEvent[]])[] = [
      ["pre", [events.prepared(1)]],
      ["str", [events.filled("border"), events.of("model.completed")]],
      ["str", [events.filled("border"), events.failed(true)]],
      ["wat", [events.filled("border"), events.settled(0)]],
      ["wat", [events.filled("settle"), events.settled(0)]],
      ["cco", [events.filled("border"), events.of("compaction.committed")]],
    ];
    for (const [state, list] of borders) {
      const chart = conversationIn(state);
      const before = chart.ports.length;
      chart.send(...list);
      if (chart.state === idOf("ret")) chart.clock.increment(bounds.retryDelay);
      expect([state, chart.state, chart.ports.slice(before).map(({ name }) => name)]).toEqual([
        state,
        idOf("sto"),
        ["stopWork"],
      ]);
    }
  });

  it("I8 what came while the rows were appended is appended too, in a turn of its own", () => {
    const chart = conversationIn("app");
    const [first] = chart.ports.slice(-1);
    chart.send(events.joined(2));
    expect([chart.state, first?.live, chart.working, chart.context.joins]).toEqual([
      idOf("app"),
      false,
      ["appendInbox"],
      2,
    ]);
    chart.send(events.joined(0));
    expect([chart.state, chart.context.joins]).toEqual([idOf("str"), 0]);
  });

  it("I9 the most urgent row that has not joined decides; once all have joined nothing is urgent any more", () => {
    const chart = conversationIn("rec");
    chart.send(events.filled("settle", 1));
    expect(chart.context).toMatchObject({ joins: 1, urgency: "settle" });
    chart.send(events.filled("now", 2), events.filled("border", 3));
    expect(chart.context).toMatchObject({ joins: 3, urgency: "now" });
    chart.send(events.recorded(), events.of("work.stopped"), events.joined(0));
    expect(chart.context).toMatchObject({ joins: 0, urgency: "border", openCalls: 0 });
  });

  it("I9 `settle` stops the model and lets the calls settle; `now` stops both; `border` stops neither", () => {
    const at = (state: State, urgency: "border" | "settle" | "now"): string => {
      const chart = conversationIn(state);
      chart.send(events.filled(urgency));
      return chart.state;
    };
    expect((["border", "settle", "now"] as const).map((urgency) => at("str", urgency))).toEqual([
      idOf("str"),
      idOf("sto"),
      idOf("sto"),
    ]);
    expect((["border", "settle", "now"] as const).map((urgency) => at("wat", urgency))).toEqual([
      idOf("wat"),
      idOf("wat"),
      idOf("sto"),
    ]);
  });

  it("I9 rows that join no Run are only counted", () => {
    const chart = conversationIn("idl");
    chart.send(events.filled("now", 3));
    expect([chart.state, chart.context.joins]).toEqual([idOf("idl"), 3]);
    chart.send(events.filled("border", 0));
    expect(chart.context.joins).toBe(0);
  });

  it("I9 leaving a model pass for the inbox stops its port; the same Run goes on with the next Step", () => {
    const chart = conversationIn("str");
    const [pass] = chart.ports.slice(-1);
    chart.send(events.filled("now"));
    expect([pass?.name, pass?.live, chart.working]).toEqual(["streamModel", false, ["stopWork"]]);
    chart.send(events.of("work.stopped"), events.joined(0));
    expect(chart.context).toMatchObject({ runId: "r1", step: 2, attempt: 0 });
  });
});

describe("Steps", () => {
  it("I11 each Step has its number, a retry keeps it, and a Step that ends forgets its attempts", () => {
    const chart = conversationIn("ret");
    expect(chart.context).toMatchObject({ step: 1, attempt: 1, retryAfterMs: bounds.retryDelay });
    chart.clock.increment(bounds.retryDelay);
    expect(chart.context).toMatchObject({ step: 1, attempt: 1, retryAfterMs: 0 });
    expect(chart.ports.at(-1)?.input).toEqual({ conversationId: "c", runId: "r1", step: 1 });
    chart.send({ type: "model.toolCalls", runId: "r1", calls: 1 }, events.recorded(1), events.settled(0));
    expect(chart.context).toMatchObject({ step: 2, attempt: 0 });
    expect(chart.ports.at(-1)?.input.step).toBe(2);
  });

  it("I11 a Step has `maxAttempts`, counted in each Step anew", () => {
    const chart = conversationIn("str", { input: { maxAttempts: 3 } });
    const fail = (): string => {
      chart.send(events.failed(true));
      if (chart.state === idOf("ret")) chart.clock.increment(bounds.retryDelay);
      return chart.state;
    };
    expect([fail(), fail()]).toEqual([idOf("str"), idOf("str")]);
    chart.send({ type: "model.toolCalls", runId: "r1", calls: 1 }, events.recorded(1), events.settled(0));
    expect([fail(), fail(), fail()]).toEqual([idOf("str"), idOf("str"), idOf("cpt")]);
  });

  it("I11 a Run has `maxSteps`", () => {
    const chart = conversationIn("str", { input: { maxSteps: 2 } });
    for (let step = 1; step <= 2; step++)
      chart.send({ type: "model.toolCalls", runId: "r1", calls: 1 }, events.recorded(1), events.settled(0));
    expect([chart.state, chart.context.outcome?.code, chart.context.step]).toEqual([idOf("cpt"), "STEP_LIMIT", 2]);
  });

  it("I11 a compaction is part of its Step, and a Run has one", () => {
    const chart = conversationIn("cco");
    expect(chart.context).toMatchObject({ step: 1, compacted: false });
    chart.send(events.of("compaction.committed"));
    expect(chart.context).toMatchObject({ step: 1, compacted: true });
    expect(chart.ports.at(-1)).toMatchObject({ name: "streamModel", input: { step: 1 } });
  });

  it("I11 a pass that completes with rows in the inbox, and one that is interrupted, end their Step", () => {
    const chart = conversationIn("ret");
    chart.clock.increment(bounds.retryDelay);
    chart.send(events.filled("border"), events.of("model.completed"));
    expect(chart.context.attempt).toBe(0);
    const interrupted = conversationIn("ret");
    interrupted.send(events.filled("border"), events.of("work.stopped"), events.joined());
    expect(interrupted.context).toMatchObject({ step: 2, attempt: 0 });
  });
});

describe("calls", () => {
  it("I18 their number and earliest deadline are those of the last report", () => {
    const chart = conversationIn("rec");
    chart.send({ type: "step.recorded", runId: "r1", open: 3, callDeadline: 400 });
    expect(chart.context).toMatchObject({ openCalls: 3, callDeadline: 400 });
    chart.send({ type: "tool.settled", runId: "r1", callId: "x", open: 2, callDeadline: 500 });
    expect(chart.context).toMatchObject({ openCalls: 2, callDeadline: 500 });
    chart.send({ type: "tool.renewed", runId: "r1", callDeadline: 900 });
    expect(chart.context).toMatchObject({ openCalls: 2, callDeadline: 900 });
  });

  it("I18 a renewal arms the deadline anew; when it passes the overdue calls are closed and the watch goes on", () => {
    const chart = conversationIn("wat");
    chart.clock.increment(1_000);
    chart.send({ type: "tool.renewed", runId: "r1", callDeadline: bounds.callDeadline + 1_000 });
    chart.clock.increment(bounds.callDeadline - 1);
    expect(chart.state).toBe(idOf("wat"));
    chart.clock.increment(1);
    expect([chart.state, chart.working]).toEqual([idOf("exp"), ["dispatchTools", "expireCalls"]]);
    chart.send({ type: "tool.renewed", runId: "r1", callDeadline: 3 * bounds.callDeadline });
    expect([chart.state, chart.working]).toEqual([idOf("wat"), ["dispatchTools"]]);
  });

  it.each(["sto", "cpt"] as const)("I18 once nothing runs any more (%s) none is open", (state) => {
    const chart = conversationIn("wat");
    if (state === "sto") chart.send(events.filled("now"), events.of("work.stopped"));
    else chart.send(events.of("cancel"), events.of("checkpoint.committed"));
    expect(chart.context).toMatchObject({ openCalls: 0, callDeadline: 0 });
  });

  it("I18 a checkpoint that is not published leaves none open either", () => {
    const chart = conversationIn("wat");
    chart.send(events.parked(), events.of("cancel"), events.of("checkpoint.committed"));
    expect(chart.context).toMatchObject({ openCalls: 0, callDeadline: 0 });
  });
});

describe("the chart as a whole", () => {
  interface Node {
    readonly id: string;
    readonly type: string;
    readonly states: Readonly<Record<string, Node>>;
    readonly config: {
      readonly after?: object;
      readonly invoke?: { readonly onError?: unknown } | readonly { readonly onError?: unknown }[];
    };
    readonly parent?: Node;
  }
  const nodes = (node: Node): readonly Node[] => [node, ...Object.values(node.states).flatMap(nodes)];
  const every = nodes(conversationMachine.root);

  it("I13 no state waits without a bound", () => {
    const bounded = (node: Node | undefined): boolean =>
      node !== undefined && (node.config.after !== undefined || bounded(node.parent));
    const leaves = every.filter(({ type }) => type === "atomic");
    expect(leaves.map(({ id }) => id).toSorted()).toEqual(
      Object.values(states)
        .filter((id) => id !== "released")
        .toSorted(),
    );
    expect(leaves.filter((node) => !bounded(node)).map(({ id }) => id)).toEqual([]);
  });

  it("I13 every state reaches idle, or leaves memory and is restored", () => {
    const finish: Readonly<Record<string, readonly ConversationEvent[]>> = {
      restoring: [],
      preparing: [events.of("cancel")],
      checkpointCommit: [events.of("checkpoint.committed")],
      publishing: [{ type: "checkpoint.published", runId: "r1", delivered: false }],
      finalCommit: [events.of("run.finalized")],
      closing: [events.of("run.closed")],
      compactionCommit: [events.of("compaction.committed"), events.of("cancel")],
      recording: [events.recorded(), events.of("cancel")],
      appending: [events.joined(), events.of("cancel")],
    };
    for (const state of withRun) {
      const chart = conversationIn(state);
      for (let step = 0; step < 10 && chart.state !== "idle"; step++)
        chart.send(...(finish[chart.state] ?? [events.of("cancel")]));
      expect([state, chart.state]).toEqual([state, "idle"]);
    }
  });

  it("I14 every invoked port has a way out when it throws", () => {
    const invokes = every.flatMap(({ id, config: { invoke } }) =>
      (invoke === undefined ? [] : [invoke].flat()).map((one) => [id, one.onError !== undefined]),
    );
    expect(invokes).toHaveLength(14);
    expect(invokes.filter(([, has]) => !has)).toEqual([]);
  });

  it("C3 an endless loop of eventless transitions is stopped", () => {
    expect(conversationMachine.options.maxIterations).toBe(100);
  });

  it("I17 its context is plain JSON under 2 KB in every state", () => {
    for (const state of Object.keys(states) as State[]) {
      const long = "x".repeat(128);
      const chart: OpenConversation = openConversation({ input: { conversationId: long } });
      bringTo(chart, state);
      const { context } = chart;
      const text = JSON.stringify(context);
      expect(JSON.parse(text)).toEqual(context);
      expect(text.length).toBeLessThan(2_048);
    }
  });
});
