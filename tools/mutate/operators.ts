import type { Node } from "oxc-parser";
import type { Mutant } from "./mutant.ts";
import { bare, excerpt, keyOf, type Source, walk, without } from "./source.ts";
import type { SuiteName } from "./suites.ts";

/**
 * What is altered in a file:
 * - `conditions`: each condition of an `if` or `?:`, and each comparison that is a value, becomes true, then false;
 * - `operands`: each side of each `&&` and `||` is left out;
 * - `fallbacks`: the same for `??`;
 * - `booleans`: each `true` becomes `false` and the other way round;
 * - `properties`: each property of each object literal is left out;
 * - `statements`: each call and assignment that stands alone is left out.
 */
export type Operator = "conditions" | "operands" | "fallbacks" | "booleans" | "properties" | "statements";

const COMPARISONS = new Set(["===", "!==", "==", "!=", "<", "<=", ">", ">=", "in", "instanceof"]);

/** The mutants of a part of a file. */
export function alter(
  source: Source,
  within: Node,
  operators: readonly Operator[],
  suites: readonly SuiteName[],
  place: (around: readonly Node[]) => string = placeOf,
): readonly Mutant[] {
  const mutants: Mutant[] = [];
  const wanted = new Set(operators);
  walk(within, (node, around) => {
    const add = (what: string, start: number, end: number, text: string): void => {
      const id = `${source.file}: ${place([...around, node])}: ${what}`;
      mutants.push({ id, file: source.file, edits: [{ start, end, text }], suites });
    };
    const instead = (text: string): void => add(`${excerpt(source, node)} is ${text}`, node.start, node.end, text);
    if (wanted.has("conditions") && decides(node, around.at(-1))) {
      const absent = absentWhen(around);
      if (!narrows(node) && absent !== false) instead("true");
      if (absent !== true) instead("false");
    }
    if (
      node.type === "LogicalExpression" &&
      (node.operator === "??" ? wanted.has("fallbacks") : wanted.has("operands"))
    ) {
      const { left, right, operator } = node;
      for (const [side, other] of [
        [left, right],
        [right, left],
      ] as const) {
        // of a chain each link is left out once
        if (chained(side, operator) || narrows(side) || isNothing(right)) continue;
        const kept = `(${source.text.slice(other.start, other.end)})`;
        add(`without ${excerpt(source, side)} of ${excerpt(source, node)}`, node.start, node.end, kept);
      }
    }
    if (wanted.has("booleans") && node.type === "Literal" && typeof node.value === "boolean")
      add(
        `${excerpt(source, around.at(-1) ?? node, 60)} with ${String(!node.value)}`,
        node.start,
        node.end,
        String(!node.value),
      );
    if (wanted.has("properties") && node.type === "ObjectExpression")
      for (const property of node.properties) {
        if (property.type === "Property" && keyOf(property) === "type") continue;
        const { start, end, text } = without(node, property);
        add(`without ${excerpt(source, property)}`, start, end, text);
      }
    if (
      wanted.has("statements") &&
      node.type === "ExpressionStatement" &&
      !("directive" in node && typeof node.directive === "string")
    )
      add(`without ${excerpt(source, node)}`, node.start, node.end, ";");
  });
  return mutants;
}

/** `… ?? ""`: what cannot be missing has a value for the type checker. */
function isNothing(side: Node): boolean {
  return side.type === "Literal" && side.value === "";
}

/** One side of `&&` or `||` that is itself a chain of the same kind. */
function chained(side: Node, operator: string): boolean {
  const inner = bare(side);
  return inner.type === "LogicalExpression" && inner.operator === operator;
}

/** `event.type === "…"` and `"…" in event`: what takes only this event says so to the type checker, and to nobody else. */
function narrows(node: Node): boolean {
  const inner = bare(node);
  if (inner.type !== "BinaryExpression") return false;
  const { operator, left, right } = inner;
  if (operator === "in") return right.type === "Identifier" && right.name === "event";
  if (operator !== "===" || left.type !== "MemberExpression" || left.object.type !== "Identifier") return false;
  return left.object.name === "event" && left.property.type === "Identifier" && left.property.name === "type";
}

/**
 * Of `...(x ? { x } : {})`: which value of the condition leaves the property away. The other one, where it does not hold, gives
 * a property that is undefined, which only the type checker tells apart from one that is absent.
 */
function absentWhen(around: readonly Node[]): boolean | undefined {
  const choice = around.at(-1);
  const outer = around.findLast((node) => node !== choice && node.type !== "ParenthesizedExpression");
  if (choice?.type !== "ConditionalExpression" || outer?.type !== "SpreadElement") return undefined;
  if (isEmpty(choice.alternate)) return false;
  return isEmpty(choice.consequent) ? true : undefined;
}

function isEmpty(node: Node): boolean {
  return node.type === "ObjectExpression" && node.properties.length === 0;
}

/** A condition; or a comparison whose value is given on, and which no condition or `&&` above it covers. */
function decides(node: Node, parent: Node | undefined): boolean {
  // what stands behind `!` is altered with it
  if (parent?.type === "UnaryExpression") return false;
  if (parent?.type === "IfStatement" || parent?.type === "ConditionalExpression") return parent.test === node;
  if (parent?.type === "LogicalExpression" && parent.operator !== "??") return false;
  const inner = bare(node);
  if (inner.type === "LogicalExpression") return inner.operator !== "??" && inner === node;
  return inner === node && inner.type === "BinaryExpression" && COMPARISONS.has(inner.operator);
}

/** The names of the functions and classes, or the constant, around a node. */
export function placeOf(around: readonly Node[]): string {
  const names = around.flatMap((node) => {
    const name = node.type === "VariableDeclarator" || node.type === "Property" ? functionName(node) : nameOf(node);
    return name === undefined ? [] : [name];
  });
  return names.length === 0 ? "the file" : names.join(".");
}

function functionName(node: Node): string | undefined {
  const value = node.type === "VariableDeclarator" ? node.init : node.type === "Property" ? node.value : undefined;
  return value?.type === "ArrowFunctionExpression" || value?.type === "FunctionExpression" ? nameOf(node) : undefined;
}

function nameOf(node: Node): string | undefined {
  if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") return node.id?.name;
  if (node.type === "VariableDeclarator") return node.id.type === "Identifier" ? node.id.name : undefined;
  return keyOf(node);
}

/** Functions, classes, methods, constants and properties of a name; throws when there is none. */
export function named(source: Source, name: string): readonly Node[] {
  const found: Node[] = [];
  walk(source.program, (node) => {
    if (nameOf(node) === name) found.push(node);
  });
  if (found.length === 0) throw new Error(`${source.file}: there is no ${name}`);
  return found;
}
