import type { Expression, ObjectExpression } from "oxc-parser";

/** The rules that a machine file keeps, so that a chart editor that imports the file sees the whole chart. */
export const MACHINE_RULES = {
  "one-machine": "a file holds exactly one setup(…).createMachine(…)",
  "one-literal": "the chart is one object literal: no spread, computed key, constant or expression",
  "names-only": "guards, actions, delays and actors are named by strings",
  "xstate-only": "a machine file takes values from xstate alone",
  "state-id": "every state has an id of its own",
  "state-description": "every state has a description",
  declared: "every name is declared in setup(…)",
  "max-iterations": "options.maxIterations bounds a loop of eventless transitions",
  "on-error": "every invoke has onError",
  "plain-action":
    "an action is assign, raise, emit, sendTo, sendParent, spawnChild, stopChild, cancel or enqueueActions",
  target: "a target names a state of the chart",
} as const;

export type MachineRule = keyof typeof MACHINE_RULES;

export interface MachineViolation {
  readonly line: number;
  readonly rule: MachineRule;
  readonly what: string;
}

/** Names that a machine declares in `setup`, by what they name. */
export interface Declared {
  readonly actions: ReadonlySet<string>;
  readonly actors: ReadonlySet<string>;
  readonly delays: ReadonlySet<string>;
  readonly guards: ReadonlySet<string>;
}

export type Report = (at: { readonly start: number }, rule: MachineRule, what: string) => void;

/** An expression without the wrappers that vanish with the types. */
export function bare(expression: Expression): Expression {
  switch (expression.type) {
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSNonNullExpression":
    case "ParenthesizedExpression":
      return bare(expression.expression);
    default:
      return expression;
  }
}

/** The members of an object literal by name; what is not a plain `name: value` is reported and left out. */
export function members(object: ObjectExpression, report: Report): Map<string, Expression> {
  const found = new Map<string, Expression>();
  for (const member of object.properties) {
    if (member.type === "SpreadElement") {
      report(member, "one-literal", "a spread");
      continue;
    }
    const key =
      member.key.type === "Identifier" && !member.computed
        ? member.key.name
        : member.key.type === "Literal"
          ? String(member.key.value)
          : undefined;
    if (key === undefined) report(member, "one-literal", "a computed key");
    else if (member.shorthand) report(member, "one-literal", `the constant ${key}`);
    else found.set(key, bare(member.value));
  }
  return found;
}

/** The value of a string literal; anything else is reported under the rule. */
export function stringOf(value: Expression, rule: MachineRule, report: Report): string | undefined {
  if (value.type === "Literal" && typeof value.value === "string") return value.value;
  report(value, rule, describe(value));
  return undefined;
}

/** An object literal; anything else is reported. */
export function objectOf(value: Expression, report: Report): ObjectExpression | undefined {
  if (value.type === "ObjectExpression") return value;
  report(value, "one-literal", describe(value));
  return undefined;
}

/** One value or a list of values, as XState takes most things. */
export function listOf(value: Expression | undefined, report: Report): Expression[] {
  if (value === undefined) return [];
  if (value.type !== "ArrayExpression") return [value];
  return value.elements.flatMap((element) => {
    if (element !== null && element.type !== "SpreadElement") return [bare(element)];
    report(element ?? value, "one-literal", element === null ? "a hole in a list" : "a spread");
    return [];
  });
}

/** Parameters of a guard or an action: literal values. */
export function paramsOf(value: Expression, report: Report): Record<string, unknown> {
  const object = objectOf(value, report);
  if (!object) return {};
  const entries = [...members(object, report)].map(([key, member]) => {
    if (member.type === "Literal") return [key, member.value];
    if (member.type === "UnaryExpression" && member.operator === "-" && member.argument.type === "Literal")
      return [key, -Number(member.argument.value)];
    report(member, "one-literal", describe(member));
    return [key, "?"];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** Reports whatever in a value is not written out. */
export function writtenOut(value: Expression, report: Report): void {
  if (value.type === "Literal") return;
  if (value.type === "ArrayExpression") for (const element of listOf(value, report)) writtenOut(element, report);
  else if (value.type === "ObjectExpression")
    for (const member of members(value, report).values()) writtenOut(member, report);
  else report(value, "one-literal", describe(value));
}

export function describe(value: Expression): string {
  switch (value.type) {
    case "Identifier":
      return `the constant ${value.name}`;
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return "a function";
    case "CallExpression":
      return "a call";
    default:
      return value.type;
  }
}
