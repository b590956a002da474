import { parseSync, Visitor, type Expression, type Program } from "oxc-parser";

/** One place where a file names another module. */
export interface Import {
  readonly line: number;
  /** The module named, or undefined where it is not a plain string (a computed `import()`). */
  readonly specifier: string | undefined;
  /** True if the import is erased before running. */
  readonly typeOnly: boolean;
}

/** A use of ambient time, randomness or I/O, such as `Date.now`. */
export interface Ambient {
  readonly line: number;
  readonly name: string;
}

export interface Scan {
  readonly imports: readonly Import[];
  readonly ambient: readonly Ambient[];
  /** Lines of top-level statements that are more than types and re-exports. */
  readonly running: readonly number[];
  /** Messages of the parser; a file with any is not judged by its imports alone. */
  readonly errors: readonly string[];
}

const AMBIENT_CALLS = new Set(["fetch", "queueMicrotask", "setImmediate", "setInterval", "setTimeout"]);
const AMBIENT_OBJECTS = new Set(["console", "performance", "process"]);
const AMBIENT_MEMBERS = new Set(["Date.now", "Math.random", "crypto.getRandomValues", "crypto.randomUUID"]);

type Node = { readonly type: string; readonly start: number };
type Literal = Node & { readonly value?: unknown };

/** Reads what a TypeScript file imports, in every form that the language has, and the ambient globals that it uses. */
export function scan(path: string, text: string): Scan {
  const parsed = parseSync(path, text);
  const imports: Import[] = [];
  const ambient: Ambient[] = [];
  const starts = lineStarts(text);
  const add = (node: Node, source: Node | null | undefined, typeOnly: boolean) => {
    if (!source) return;
    const named = (source as Literal).value;
    imports.push({
      line: lineAt(starts, node.start),
      specifier: typeof named === "string" ? named : undefined,
      typeOnly,
    });
  };
  const use = (node: Node, name: string) => ambient.push({ line: lineAt(starts, node.start), name });

  new Visitor({
    ImportDeclaration: (node) =>
      add(
        node,
        node.source,
        // with verbatimModuleSyntax `import { type A }` still loads the module; only `import type` is erased
        node.importKind === "type",
      ),
    ExportNamedDeclaration: (node) => add(node, node.source, node.exportKind === "type"),
    ExportAllDeclaration: (node) => add(node, node.source, node.exportKind === "type"),
    ImportExpression: (node) => add(node, node.source, false),
    TSImportType: (node) => add(node, node.source, true),
    TSImportEqualsDeclaration: (node) => {
      if (node.moduleReference.type === "TSExternalModuleReference")
        add(node, node.moduleReference.expression, node.importKind === "type");
    },
    CallExpression: (node) => {
      const { callee } = node;
      if (callee.type === "Identifier" && callee.name === "require") add(node, node.arguments[0], false);
      if (callee.type === "Identifier" && AMBIENT_CALLS.has(callee.name)) use(node, callee.name);
    },
    NewExpression: (node) => {
      if (node.callee.type === "Identifier" && node.callee.name === "Date" && node.arguments.length === 0)
        use(node, "new Date()");
    },
    MemberExpression: (node) => {
      const object = globalName(node.object);
      if (object === undefined) return;
      const member = node.property.type === "Identifier" ? `${object}.${node.property.name}` : object;
      if (AMBIENT_OBJECTS.has(object) || AMBIENT_MEMBERS.has(member)) use(node, member);
    },
  }).visit(parsed.program);

  const running = parsed.program.body.flatMap((statement) =>
    isErased(statement) ? [] : [lineAt(starts, statement.start)],
  );
  return { imports, ambient, running, errors: parsed.errors.map((error) => error.message) };
}

/** `process` and `globalThis.process` both give `process`. */
function globalName(object: Expression): string | undefined {
  if (object.type === "Identifier") return object.name;
  if (object.type !== "MemberExpression" || object.property.type !== "Identifier") return undefined;
  return globalName(object.object) === "globalThis" ? object.property.name : undefined;
}

/** Whether a top-level statement leaves something behind when types are stripped. */
function isErased(statement: Program["body"][number]): boolean {
  switch (statement.type) {
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return true;
    case "ImportDeclaration":
      return statement.importKind === "type";
    case "ExportAllDeclaration":
      return true;
    case "ExportNamedDeclaration":
      if (statement.declaration) return isErased(statement.declaration);
      return statement.source !== null || statement.exportKind === "type" || statement.specifiers.length === 0;
    case "VariableDeclaration":
      return statement.declare === true;
    default:
      return false;
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? Infinity) <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
