import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { chartOf } from "./chart.ts";
import { readMachine } from "./extractor.ts";
import { MACHINE_RULES, type MachineRule } from "./literal.ts";
import { machineIn } from "./outputs.ts";

const sample = path.join(import.meta.dirname, "fixtures/sample.machine.ts");
const sampleText = fs.readFileSync(sample, "utf8");
const folder = path.resolve(import.meta.dirname, "../../machines");
const machines = fs.readdirSync(folder).filter((name) => name.endsWith(".machine.ts"));

/** What an editor sees by reading a file, beside what the machine is. */
async function both(file: string) {
  const read = readMachine(file, fs.readFileSync(file, "utf8"));
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const chart = chartOf(machineIn(file, module));
  return {
    violations: read.violations,
    read: {
      states: read.states.map(({ id, key, parent, description, invoke }) => ({ id, key, parent, description, invoke })),
      initials: read.states.flatMap(({ id, initial }) =>
        initial === null ? [] : [[id, read.states.find(({ key, parent }) => parent === id && key === initial)?.id]],
      ),
      transitions: read.transitions.map((one) => JSON.stringify(one)).toSorted(),
    },
    is: {
      states: chart.states.map(({ id, key, parent, description, invoke }) => ({
        id,
        key,
        parent,
        description,
        invoke: invoke.map(({ src }) => src),
      })),
      initials: chart.states.flatMap(({ id, initial }) => (initial === null ? [] : [[id, initial]])),
      transitions: chart.transitions
        .map(({ source, type, targets, guard, actions, reenter }) =>
          JSON.stringify({ source, type, guard, actions, reenter, targets }),
        )
        .toSorted(),
    },
  };
}

describe("a machine file, read as an importing editor reads it", () => {
  it("is there", () => {
    expect(machines).toContain("conversation.machine.ts");
    expect(machines).toContain("cursor-run.machine.ts");
  });

  it.each([...machines, "sample.machine.ts"])("%s shows the whole chart", async (name) => {
    const { violations, read, is } = await both(name === "sample.machine.ts" ? sample : path.join(folder, name));
    expect(violations).toEqual([]);
    expect(read.states).toEqual(is.states);
    expect(read.initials).toEqual(is.initials);
    expect(read.transitions).toEqual(is.transitions);
    expect(read.transitions.length).toBeGreaterThan(10);
  });
});

/** Changes of the sample that break one rule each: the text to replace, and what with. */
const PLANTED: readonly (readonly [rule: MachineRule, what: string, from: string, to: string])[] = [
  ["one-machine", "createMachine without setup", "}).createMachine({", "});\nexport const other = createMachine({"],
  ["one-machine", "a second machine", "  },\n});\n", "  },\n});\nsetup({}).createMachine({});\n"],
  ["one-machine", "none", ".createMachine(", ".createChart("],
  ["one-literal", "the chart in a constant", ".createMachine({", ".createMachine(chart, {"],
  [
    "one-literal",
    "a spread of transitions",
    '      on: { "model.toolCalls"',
    '      on: { ...common, "model.toolCalls"',
  ],
  ["one-literal", "a state from elsewhere", "    passive: {", "    extra: imported,\n    passive: {"],
  ["one-literal", "a state by shorthand", "    passive: {", "    extra,\n    passive: {"],
  ["one-literal", "a computed key", "    passive: {", "    [key]: {},\n    passive: {"],
  ["one-literal", "a computed target", '{ passivation: "passive" }', "{ passivation: target }"],
  [
    "one-literal",
    "a conditional transition",
    '{ passivation: "passive" }',
    '{ passivation: flag ? "passive" : "idle" }',
  ],
  ["one-literal", "a call as a state", "    passive: {", "    extra: stateOf(),\n    passive: {"],
  ["one-literal", "a spread in a list", "onError: [", "onError: [...more,"],
  ["one-literal", "tags in a constant", 'type: "final"', 'type: "final",\n      tags: common'],
  [
    "one-literal",
    "parameters that are computed",
    'guard: "mayRetry"',
    'guard: { type: "mayRetry", params: { attempts: limit } }',
  ],
  ["names-only", "a guard in place", 'guard: "allSettled"', "guard: () => true"],
  ["names-only", "a guard in a constant", 'guard: "allSettled"', "guard: allSettled"],
  ["names-only", "a composed guard", 'guard: "allSettled"', 'guard: and(["allSettled", "mayRetry"])'],
  ["names-only", "an action in place", 'actions: "noteRun"', "actions: assign({ attempts: 0 })"],
  ["names-only", "an action in a list in place", '["noteFailed", "announceEnd"]', '["noteFailed", () => {}]'],
  ["names-only", "an entry action in place", 'entry: "countAttempt"', "entry: () => {}"],
  ["names-only", "an actor in place", 'src: "commit"', "src: fromPromise(async () => {})"],
  ["xstate-only", "a value from elsewhere", 'from "xstate";', 'from "xstate";\nimport { states } from "./states.ts";'],
  [
    "xstate-only",
    "a type among values",
    'from "xstate";',
    'from "xstate";\nimport { type A } from "@chartroom/domain";',
  ],
  ["xstate-only", "a re-export", 'from "xstate";', 'from "xstate";\nexport { states } from "./states.ts";'],
  ["xstate-only", "a re-export of all", 'from "xstate";', 'from "xstate";\nexport * from "./states.ts";'],
  ["xstate-only", "an import()", 'from "xstate";', 'from "xstate";\nvoid import("./states.ts");'],
  ["state-id", "a state without", '      id: "passive",\n', ""],
  ["state-id", "a machine without", '  id: "sample",\n', ""],
  ["state-id", "an id twice", '      id: "passive",', '      id: "idle",'],
  ["state-description", "a state without", '      description: "No Run; may be passivated.",\n', ""],
  ["state-description", "an empty one", '"No Run; may be passivated."', '" "'],
  ["declared", "a guard", "    allSettled: () => notProvided(),\n", ""],
  ["declared", "an action", '    noteCancelled: assign({ outcome: "cancelled" as const }),\n', ""],
  ["declared", "a delay", "    passivation: () => notProvided(),\n", ""],
  ["declared", "an actor", "    commit: fromPromise<void>(async () => notProvided()),\n", ""],
  ["max-iterations", "no bound", "  options: { maxIterations: 100 },\n", ""],
  [
    "on-error",
    "an invoke without",
    '        onError: { target: "idle", actions: ["noteFailed", "announceEnd"] },\n',
    "",
  ],
  ["plain-action", "a function", 'announceEnd: emit({ type: "run.ended" })', "announceEnd: () => {}"],
  ["plain-action", "a log", 'announceEnd: emit({ type: "run.ended" })', "announceEnd: log()"],
  ["target", "an id that is not there", 'onDone: "#checkpointing"', 'onDone: "#nowhere"'],
  ["target", "a sibling that is not there", 'onDone: "modeling"', 'onDone: "nowhere"'],
];

describe("a planted violation", () => {
  it.each(PLANTED)("%s: %s", (rule, _, from, to) => {
    expect(sampleText.includes(from), "the sample holds the text to replace").toBe(true);
    const text = sampleText.replace(from, to);
    const found = readMachine("planted.machine.ts", text).violations;
    expect(new Set(found.map((one) => one.rule))).toContain(rule);
  });

  it("is reported with its line", () => {
    const text = sampleText.replace('guard: "allSettled"', "guard: () => true");
    const line = text.split("\n").findIndex((one) => one.includes("guard: () => true")) + 1;
    expect(readMachine("planted.machine.ts", text).violations).toEqual([
      { line, rule: "names-only", what: "a function" },
    ]);
  });

  it("exists for every rule", () => {
    expect([...new Set(PLANTED.map(([rule]) => rule))].toSorted()).toEqual(Object.keys(MACHINE_RULES).toSorted());
  });

  it("that only running shows is found by the comparison", () => {
    const { transitions } = readMachine("planted.machine.ts", sampleText.replace("reenter: true, ", ""));
    expect(transitions).not.toEqual(readMachine(sample, sampleText).transitions);
  });
});
