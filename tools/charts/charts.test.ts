import { conversationMachine, cursorRunMachine } from "@chartroom/machines";
import type { Box, ChartLayout } from "@chartroom/server/chart";
import { describe, expect, it } from "vitest";
import { createMachine, type AnyStateMachine } from "xstate";
import { arrowsOf } from "./arrows.ts";
import { chartOf } from "./chart.ts";
import { sampleMachine } from "./fixtures/sample.machine.ts";
import { layoutOf } from "./layout.ts";
import { mermaid } from "./mermaid.ts";
import { differences, machineIn, outputsOf } from "./outputs.ts";

const machines: readonly (readonly [string, AnyStateMachine])[] = [
  ["sample", sampleMachine],
  ["conversation", conversationMachine],
  ["cursorRun", cursorRunMachine],
];

describe("Mermaid", () => {
  it("shows hierarchy, initial and final states, events, guards, delays and actions", () => {
    expect(mermaid(chartOf(sampleMachine))).toBe(`---
title: sample
---
stateDiagram-v2
  [*] --> idle
  state "idle" as idle
  state "running" as running
  state running {
    [*] --> preparing
    state "preparing" as preparing
    state "modeling" as modeling
    state "waitingTools" as waitingTools
  }
  state "checkpointing" as checkpointing
  state "passive" as passive
  passive --> [*]
  idle --> running : run.requested / noteRun
  idle --> passive : after passivation
  running --> checkpointing : cancel / noteCancelled
  running --> checkpointing : park.expired / noteFailed
  preparing --> modeling : done prepare
  preparing --> checkpointing : error prepare / noteFailed
  preparing --> checkpointing : after prepareBound / noteFailed
  modeling --> waitingTools : model.toolCalls [isCurrentRun]
  modeling --> checkpointing : done streamModel
  modeling --> modeling : error streamModel [mayRetry]
  modeling --> checkpointing : error streamModel / noteFailed
  waitingTools --> modeling : tool.settled [allSettled]
  waitingTools --> modeling : always [noCalls]
  checkpointing --> idle : done commit / announceEnd
  checkpointing --> idle : error commit / noteFailed, announceEnd
  checkpointing --> idle : after commitBound / noteFailed, announceEnd
`);
  });

  it("separates the regions of a parallel state", () => {
    const machine = createMachine({
      id: "m",
      initial: "p",
      states: { p: { type: "parallel", states: { a: {}, b: {} } } },
    });
    expect(mermaid(chartOf(machine))).toContain('    state "a" as m_p_a\n    --\n    state "b" as m_p_b\n');
  });
});

describe("an arrow", () => {
  it("joins two states with the same parent, and stands for what happens inside them", () => {
    const arrows = arrowsOf(chartOf(sampleMachine));
    expect(arrows.find(({ id }) => id === "running->checkpointing")).toEqual({
      id: "running->checkpointing",
      source: "running",
      target: "checkpointing",
      from: ["running", "preparing", "modeling"],
      label: ["cancel", "park.expired"],
    });
    expect(arrows.some(({ id }) => id === "preparing->checkpointing")).toBe(false);
  });
});

describe.each(machines)("the layout of %s", (_, machine) => {
  it("is the same each time", async () => {
    expect(Object.fromEntries(await outputsOf(machine))).toEqual(Object.fromEntries(await outputsOf(machine)));
  });

  it("holds every state and every transition that leaves one", async () => {
    const chart = chartOf(machine);
    const layout = await layoutOf(chart);
    expect(layout.states.map(({ id }) => id)).toEqual(chart.states.map(({ id }) => id));
    for (const { source, targets } of chart.transitions)
      for (const target of targets.filter((one) => one !== source))
        expect(layout.ways).toContainEqual(expect.objectContaining({ source, target }));
  });

  it("is legible: children inside, siblings apart, text inside its box, labels clear of states", async () => {
    const layout = await layoutOf(chartOf(machine));
    for (const state of layout.states) {
      const around = layout.states.find(({ id }) => id === state.parent)?.box ?? { x: 0, y: 0, ...layout };
      expect(isInside(state.box, around), `${state.id} in ${state.parent}`).toBe(true);
      const siblings = layout.states.filter((other) => other.parent === state.parent && other.id !== state.id);
      for (const other of siblings) expect(overlap(state.box, other.box), `${state.id} and ${other.id}`).toBe(false);
      for (const { text } of state.lines) expect(text.length * 7.2, text).toBeLessThan(state.box.width - 15);
    }
    for (const { source, label, labelBox } of layout.edges) {
      if (!labelBox) continue;
      for (const text of label) expect(text.length * 7.2, text).toBeLessThan(labelBox.width);
      for (const leaf of leaves(layout)) expect(overlap(labelBox, leaf.box), `${source} ${label.join()}`).toBe(false);
    }
  });
});

describe("the files", () => {
  it("of a machine are four", async () => {
    const outputs = await outputsOf(sampleMachine);
    expect([...outputs.keys()]).toEqual(["sample.mmd", "sample.json", "sample.layout.json", "sample.svg"]);
    expect(outputs.get("sample.svg")).toMatch(/^<svg [^]*<\/svg>\n$/);
    expect(JSON.parse(outputs.get("sample.json") ?? "")).toEqual(chartOf(sampleMachine));
  });

  it("that are missing, changed or left over count as drift", () => {
    const expected = new Map([
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ]);
    expect(differences(expected, new Map(expected))).toEqual({ differing: [], stale: [] });
    expect(
      differences(
        expected,
        new Map([
          ["a", "1"],
          ["b", "other"],
          ["d", "4"],
        ]),
      ),
    ).toEqual({
      differing: ["b", "c"],
      stale: ["d"],
    });
  });

  it("are refused for a module with no machine or with two", () => {
    expect(() => machineIn("x.machine.ts", { a: 1 })).toThrow("x.machine.ts exports 0 machines");
    expect(() => machineIn("x.machine.ts", { a: sampleMachine, b: conversationMachine })).toThrow("exports 2 machines");
    expect(machineIn("x.machine.ts", { default: sampleMachine, named: sampleMachine })).toBe(sampleMachine);
  });
});

function leaves(layout: ChartLayout) {
  return layout.states.filter(({ id }) => !layout.states.some(({ parent }) => parent === id));
}

function isInside(inner: Box, outer: Box): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
