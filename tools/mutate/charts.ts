import type { ArrayExpression, Node, ObjectExpression } from "oxc-parser";
import type { Edit, Mutant } from "./mutant.ts";
import { alter, named } from "./operators.ts";
import { bare, excerpt, keyOf, readSource, type Source, valueOf, walk, without } from "./source.ts";
import type { SuiteName } from "./suites.ts";

/**
 * The mutants of a machine file, from what it holds:
 * - each guard is always true, always false, and without each of its operands;
 * - each action without each thing that it notes, each condition in it true and false;
 * - each transition is left out, is without its guard, without each of its actions, without `reenter`, goes to `finalizing`
 *   where it went to `checkpointing`, and with another of each of its parameters;
 * - each state without its tags and entry actions.
 */
export function chartMutants(
  root: string,
  file: string,
  helpers: readonly string[],
  suites: readonly SuiteName[],
): readonly Mutant[] {
  const source = readSource(root, file);
  const { implementations, chart } = partsOf(source);
  const guards = objectOf(valueOf(implementations, "guards"));
  const actions = objectOf(valueOf(implementations, "actions"));
  return [
    ...helpers.flatMap((name): readonly Mutant[] => {
      const [helper] = named(source, name);
      if (!helper) return [];
      const whole = helper.type === "VariableDeclarator" && helper.init?.type === "ArrowFunctionExpression";
      return alter(source, helper, whole ? ["conditions", "operands"] : ["properties"], suites, () => name);
    }),
    ...entriesOf(guards).flatMap(([name, guard]) =>
      alter(source, guard, ["conditions", "operands"], suites, () => `guard ${name}`).concat(
        constant(source, guard, name, suites),
      ),
    ),
    ...entriesOf(actions).flatMap(([name, action]) =>
      alter(source, action, ["conditions", "operands", "fallbacks", "properties"], suites, () => `action ${name}`),
    ),
    ...stateMutants(source, chart, [], suites),
  ];
}

/** A guard whose whole body is no comparison or `&&`, as true and as false. */
function constant(source: Source, guard: Node, name: string, suites: readonly SuiteName[]): readonly Mutant[] {
  const body = guard.type === "ArrowFunctionExpression" ? bare(guard.body) : undefined;
  if (!body || body.type === "LogicalExpression" || body.type === "BinaryExpression") return [];
  return ["true", "false"].map((text) => ({
    id: `${source.file}: guard ${name}: ${excerpt(source, body)} is ${text}`,
    file: source.file,
    edits: [{ start: body.start, end: body.end, text }],
    suites,
  }));
}

/** The literals of `setup({…}).createMachine({…})`. */
function partsOf(source: Source): { implementations: ObjectExpression; chart: ObjectExpression } {
  let parts: { implementations: ObjectExpression; chart: ObjectExpression } | undefined;
  walk(source.program, (node) => {
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return;
    const { object, property } = node.callee;
    if (property.type !== "Identifier" || property.name !== "createMachine" || object.type !== "CallExpression") return;
    parts = { implementations: objectOf(object.arguments[0]), chart: objectOf(node.arguments[0]) };
  });
  if (!parts) throw new Error(`${source.file}: no setup(…).createMachine(…)`);
  return parts;
}

function objectOf(node: Node | undefined): ObjectExpression {
  if (node?.type !== "ObjectExpression") throw new Error("an object literal was expected");
  return node;
}

function entriesOf(object: ObjectExpression): readonly (readonly [string, Node])[] {
  return object.properties.flatMap((property) =>
    property.type === "Property" ? [[keyOf(property) ?? "", bare(property.value)] as const] : [],
  );
}

function stateMutants(
  source: Source,
  state: ObjectExpression,
  path: readonly string[],
  suites: readonly SuiteName[],
): readonly Mutant[] {
  const name = path.length === 0 ? "everywhere" : path.join(".");
  const mutants: Mutant[] = [];
  const add = (what: string, edit: Edit): void => {
    mutants.push({ id: `${source.file}: ${name}: ${what}`, file: source.file, edits: [edit], suites });
  };
  for (const property of state.properties) {
    if (property.type !== "Property") continue;
    const key = keyOf(property);
    const value = bare(property.value);
    if (key === "tags" || key === "entry" || key === "exit")
      add(`without ${excerpt(source, property)}`, without(state, property));
    if ((key === "on" || key === "after") && value.type === "ObjectExpression")
      for (const event of value.properties)
        if (event.type === "Property")
          transitions(source, value, event, `${key === "after" ? "after " : ""}${keyOf(event)}`, event.value, add);
    if (key === "always") transitions(source, state, property, "always", property.value, add);
    if (key === "invoke" && value.type === "ObjectExpression")
      for (const part of value.properties)
        if (part.type === "Property" && keyOf(part) === "onError")
          transitions(source, value, part, "onError", part.value, add);
    if (key === "states")
      for (const [child, inner] of entriesOf(objectOf(value)))
        mutants.push(...stateMutants(source, objectOf(inner), [...path, child], suites));
  }
  return mutants;
}

/** The mutants of the transitions of one event, which stand as `entry` in `list`. */
function transitions(
  source: Source,
  list: ObjectExpression,
  entry: Node,
  event: string,
  value: Node,
  add: (what: string, edit: Edit) => void,
): void {
  if (value.type === "ArrayExpression") {
    for (const one of value.elements) if (one) transition(source, value, one, event, one, add);
  } else transition(source, list, entry, event, value, add);
}

function transition(
  source: Source,
  list: ObjectExpression | ArrayExpression,
  entry: Node,
  event: string,
  value: Node,
  add: (what: string, edit: Edit) => void,
): void {
  const guard = valueOf(value, "guard");
  const title = `${event}${guard ? ` (${excerpt(source, guard).replaceAll('"', "")})` : ""}`;
  add(`${title} left out`, without(list, entry));
  if (value.type !== "ObjectExpression") return;
  for (const property of value.properties) {
    if (property.type !== "Property") continue;
    const key = keyOf(property);
    const inner = bare(property.value);
    if (key === "guard") add(`${title} without its guard`, without(value, property));
    if (key === "reenter") add(`${title} without reenter`, without(value, property));
    if (key === "actions")
      for (const action of inner.type === "ArrayExpression" ? inner.elements : [inner])
        if (action)
          add(
            `${title} without ${nameOf(source, action)}`,
            inner.type === "ArrayExpression" ? without(inner, action) : without(value, property),
          );
    if (key === "target" && inner.type === "Literal" && /^[#.]?checkpointing$/u.test(String(inner.value)))
      add(`${title} past the checkpoint`, {
        start: inner.start,
        end: inner.end,
        text: JSON.stringify(String(inner.value).replace("checkpointing", "finalizing")),
      });
    walk(inner, (node) => {
      if (node.type !== "Property" || keyOf(node) !== "params") return;
      for (const [param, given] of entriesOf(objectOf(bare(node.value))))
        if (given.type === "Literal")
          add(`${title} with another ${param} than ${excerpt(source, given)}`, {
            start: given.start,
            end: given.end,
            text: JSON.stringify(another(given.value)),
          });
    });
  }
}

function nameOf(source: Source, action: Node): string {
  const type = valueOf(action, "type");
  return excerpt(source, type ?? action).replaceAll('"', "");
}

const OTHERS: Readonly<Record<string, string>> = {
  failed: "completed",
  completed: "failed",
  cancelled: "failed",
  superseded: "cancelled",
  INTERNAL: "PARK_EXPIRED",
  idle: "preparing",
};

/** Another value of the same kind as far as one is known. */
function another(value: unknown): string {
  if (typeof value !== "string") return "INTERNAL";
  return OTHERS[value] ?? (/^[A-Z_]+$/u.test(value) ? "INTERNAL" : "idle");
}
