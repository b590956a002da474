import { parseSync, Visitor, type CallExpression, type Expression, type ObjectExpression } from "oxc-parser";
import { readChart, type ReadState, type ReadTransition } from "./config.ts";
import { bare, describe, members, objectOf, type Declared, type MachineViolation, type Report } from "./literal.ts";

/** What a chart editor gets from a machine file by reading it, without running it. */
export interface Reading {
  readonly states: readonly ReadState[];
  readonly transitions: readonly ReadTransition[];
  readonly violations: readonly MachineViolation[];
}

const ACTIONS = new Set([
  "assign",
  "cancel",
  "emit",
  "enqueueActions",
  "raise",
  "sendParent",
  "sendTo",
  "spawnChild",
  "stopChild",
]);

/** Reads a machine file the way an importing editor does, and reports what such an editor would lose. */
export function readMachine(path: string, text: string): Reading {
  const parsed = parseSync(path, text);
  const violations: MachineViolation[] = [];
  const report: Report = ({ start }, rule, what) => {
    violations.push({ line: text.slice(0, start).split("\n").length, rule, what });
  };
  if (parsed.errors.length > 0) throw new Error(`${path}: ${parsed.errors[0]?.message}`);

  const created: CallExpression[] = [];
  new Visitor({
    ImportDeclaration: (node) => {
      if (node.source.value !== "xstate" && node.importKind !== "type") report(node, "xstate-only", node.source.value);
    },
    ImportExpression: (node) => report(node, "xstate-only", "import(…)"),
    ExportAllDeclaration: (node) => report(node, "xstate-only", node.source.value),
    ExportNamedDeclaration: (node) => {
      if (node.source && node.exportKind !== "type") report(node, "xstate-only", node.source.value);
    },
    CallExpression: (node) => {
      if (calledName(node) === "createMachine") created.push(node);
    },
  }).visit(parsed.program);

  const [creation, ...others] = created;
  for (const other of others) report(other, "one-machine", "another createMachine(…)");
  const parts = creation ? partsOf(creation, report) : undefined;
  if (!creation) report({ start: 0 }, "one-machine", "no createMachine(…)");
  if (!parts) return { states: [], transitions: [], violations };
  return { ...readChart(parts.chart, declaredIn(parts.setup, report), report), violations };
}

function calledName(call: CallExpression): string | undefined {
  const callee = bare(call.callee);
  if (callee.type === "Identifier") return callee.name;
  return callee.type === "MemberExpression" && callee.property.type === "Identifier" ? callee.property.name : undefined;
}

/** The literals of `setup({…}).createMachine({…})`. */
function partsOf(
  creation: CallExpression,
  report: Report,
): { setup: ObjectExpression; chart: ObjectExpression } | undefined {
  const callee = bare(creation.callee);
  const owner = callee.type === "MemberExpression" ? bare(callee.object) : undefined;
  if (owner?.type !== "CallExpression" || calledName(owner) !== "setup") {
    report(creation, "one-machine", "createMachine(…) that does not follow setup(…)");
    return undefined;
  }
  const setup = literalArgument(owner, report);
  const chart = literalArgument(creation, report);
  return setup && chart ? { setup, chart } : undefined;
}

function literalArgument(call: CallExpression, report: Report): ObjectExpression | undefined {
  const [argument] = call.arguments;
  if (argument && argument.type !== "SpreadElement") return objectOf(bare(argument), report);
  report(call, "one-literal", "no argument");
  return undefined;
}

function declaredIn(setup: ObjectExpression, report: Report): Declared {
  const parts = members(setup, report);
  const names = (part: string): [string, Expression][] => {
    const value = parts.get(part);
    const object = value && objectOf(value, report);
    return object ? [...members(object, report)] : [];
  };
  const actions = names("actions");
  for (const [name, value] of actions) {
    const made = value.type === "CallExpression" ? calledName(value) : undefined;
    if (made === undefined || !ACTIONS.has(made))
      report(value, "plain-action", `${name} is ${made === undefined ? describe(value) : `${made}(…)`}`);
  }
  const only = (part: string) => new Set(names(part).map(([name]) => name));
  return {
    actions: new Set(actions.map(([name]) => name)),
    actors: only("actors"),
    delays: only("delays"),
    guards: only("guards"),
  };
}
