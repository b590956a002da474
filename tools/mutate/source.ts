import fs from "node:fs";
import path from "node:path";
import { parseSync, type ArrayExpression, type Node, type ObjectExpression } from "oxc-parser";
import type { Edit } from "./mutant.ts";

/** A source file, read and parsed. */
export interface Source {
  /** From the workspace's root. */
  readonly file: string;
  readonly text: string;
  readonly program: Node;
}

export function readSource(root: string, file: string): Source {
  const text = fs.readFileSync(path.join(root, file), "utf8");
  const parsed = parseSync(file, text);
  if (parsed.errors.length > 0) throw new Error(`${file}: ${parsed.errors[0]?.message}`);
  return { file, text, program: parsed.program };
}

/** Every node below and including one, in the order of the text, with the nodes around it, innermost last. */
export function walk(node: Node, visit: (node: Node, around: readonly Node[]) => void): void {
  const go = (at: Node, around: readonly Node[]): void => {
    visit(at, around);
    const inside = [...around, at];
    for (const child of childrenOf(at)) go(child, inside);
  };
  go(node, []);
}

/** Types are no part of what runs. */
const TYPES = new Set(["typeAnnotation", "typeArguments", "typeParameters", "returnType"]);

function childrenOf(node: Node): readonly Node[] {
  return Object.entries(node)
    .flatMap(([key, value]: [string, unknown]) => (TYPES.has(key) ? [] : [value].flat()))
    .filter((value): value is Node => typeof value === "object" && value !== null && "type" in value)
    .toSorted((a, b) => a.start - b.start);
}

/** An expression without the wrappers that vanish with the types. */
export function bare(node: Node): Node {
  return node.type === "TSAsExpression" ||
    node.type === "TSSatisfiesExpression" ||
    node.type === "TSNonNullExpression" ||
    node.type === "ParenthesizedExpression"
    ? bare(node.expression)
    : node;
}

/** The name of a property or method; `undefined` when it is computed, or for another node. */
export function keyOf(node: Node): string | undefined {
  if (node.type !== "Property" && node.type !== "MethodDefinition") return undefined;
  const { key, computed } = node;
  if (key.type === "Literal") return String(key.value);
  if (key.type === "PrivateIdentifier") return `#${key.name}`;
  return key.type === "Identifier" && !computed ? key.name : undefined;
}

/** The value of a property of an object literal. */
export function valueOf(object: Node | undefined, name: string): Node | undefined {
  if (object?.type !== "ObjectExpression") return undefined;
  const found = object.properties.find((property) => property.type === "Property" && keyOf(property) === name);
  return found?.type === "Property" ? bare(found.value) : undefined;
}

/** Takes an entry out of a list, with the comma that parted it from its neighbour. */
export function without(list: ObjectExpression | ArrayExpression, entry: Node): Edit {
  const entries: readonly (Node | null)[] = list.type === "ObjectExpression" ? list.properties : list.elements;
  const at = entries.indexOf(entry);
  const [before, after] = [entries[at - 1], entries[at + 1]];
  if (after) return { start: entry.start, end: after.start, text: "" };
  if (before) return { start: before.end, end: entry.end, text: "" };
  // the only one, with a comma behind it or not
  return { start: entry.start, end: list.end - 1, text: "" };
}

/** The words of a piece of the source, on one line, not too many. */
export function excerpt({ text }: Source, node: Node, longest = 80): string {
  const words = text.slice(node.start, node.end).replaceAll(/\s+/gu, " ");
  return words.length <= longest ? words : `${words.slice(0, longest - 1)}…`;
}
