import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { scan, type Import } from "./scan.ts";
import {
  OUTSIDE,
  TEST_EXTERNAL,
  TEST_WORKSPACE,
  UNITS,
  type Edge,
  type Outside,
  type Unit,
  type Wider,
} from "./table.ts";

/** A source file: its path from the workspace's root with `/`, and its text. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export const RULES = {
  "package-edge": "a package that the table does not list for this one",
  "types-only": "this edge is for `import type` alone",
  "external-package": "an npm package that the table does not list for this one",
  "node-builtin": "a pure package does not use Node's own modules",
  ambient: "a pure package takes time, randomness and I/O as arguments",
  "types-alone": "this package holds types alone, nothing that runs",
  "escaping-relative": "a relative import that leaves its package",
  "generated-code": "generated code is imported by its package name, @chartroom/protocols/…",
  "deep-import": "a package has one door, its index",
  "self-import": "inside a package, imports are relative",
  "folder-door": "a folder with wider rights is reached through its index",
  "test-import": "product code does not import tests or their support",
  unreadable: "an import() whose module is not a plain string cannot be judged",
  "unknown-package": "a package that the table does not know",
  syntax: "the file does not parse",
  "nothing-parsed": "no file was read, so nothing was checked",
} as const;

export type Rule = keyof typeof RULES;

export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly rule: Rule;
  /** What was imported or used. */
  readonly what: string;
}

export interface Verdict {
  readonly files: number;
  readonly imports: number;
  readonly violations: readonly Violation[];
}

/** Judges every import of a tree of sources by the table. A tree of which no file was read is itself a violation. */
export function judge(sources: readonly Source[]): Verdict {
  const violations: Violation[] = [];
  let imports = 0;
  for (const source of sources) {
    const found = scan(source.path, source.text);
    imports += found.imports.length;
    const report = (line: number, rule: Rule, what: string) => violations.push({ file: source.path, line, rule, what });
    for (const error of found.errors) report(1, "syntax", error);
    const place = placeOf(source.path);
    if (place === undefined) {
      report(1, "unknown-package", source.path);
      continue;
    }
    for (const one of found.imports) {
      const rule = judgeImport(place, one);
      if (rule !== undefined) report(one.line, rule, one.specifier ?? "import(…)");
    }
    if (place.unit?.pure && !place.test) for (const use of found.ambient) report(use.line, "ambient", use.name);
    if (place.unit?.typesOnly && !place.test)
      for (const line of found.running) report(line, "types-alone", "a statement");
  }
  if (sources.length === 0) violations.push({ file: ".", line: 1, rule: "nothing-parsed", what: "no sources" });
  return { files: sources.length, imports, violations };
}

/** Where a file stands: in a unit of the product, or in a folder outside it. */
interface Place {
  readonly path: string;
  readonly folder: string;
  readonly name: string | undefined;
  readonly test: boolean;
  readonly unit: Unit | undefined;
  readonly wider: Wider | undefined;
}

function placeOf(path: string): Place | undefined {
  const unit = UNITS.find(({ folder }) => path.startsWith(`${folder}/`));
  if (unit) {
    const inside = path.slice(unit.folder.length + 1);
    if (isConfiguration(inside))
      return { path, folder: unit.folder, name: unit.name, test: true, unit: undefined, wider: undefined };
    const wider = unit.wider?.find(({ folder }) => inside.startsWith(`${folder}/`));
    return { path, folder: unit.folder, name: unit.name, test: isTest(inside), unit, wider };
  }
  const outside = OUTSIDE.find(({ folder }) => path.startsWith(`${folder}/`));
  if (outside)
    return { path, folder: outside.folder, name: outside.name, test: true, unit: undefined, wider: undefined };
  // files of the root itself are configuration of the tools
  return path.includes("/")
    ? undefined
    : { path, folder: "", name: undefined, test: true, unit: undefined, wider: undefined };
}

/** Tests of a package: files named so, and its folder `test`. */
function isTest(inside: string): boolean {
  return inside.endsWith(".test.ts") || inside.startsWith("test/");
}

/** The configuration of a tool, beside a package's package.json: no product code. */
function isConfiguration(inside: string): boolean {
  return !inside.includes("/") && inside.endsWith(".config.ts");
}

function judgeImport(place: Place, one: Import): Rule | undefined {
  const { specifier } = one;
  if (specifier === undefined) return place.unit && !place.test ? "unreadable" : undefined;
  if (specifier.startsWith(".") || specifier.startsWith("/")) return judgeRelative(place, specifier);
  if (specifier.startsWith("@chartroom/")) return judgeWorkspace(place, specifier, one.typeOnly);
  if (isBuiltin(specifier)) return !place.unit || place.test || place.unit.builtins ? undefined : "node-builtin";
  if (!place.unit) return undefined;
  const external = [...place.unit.external, ...(place.wider?.external ?? []), ...(place.test ? TEST_EXTERNAL : [])];
  const name = packageName(specifier);
  if (external.some((allowed) => matches(allowed, name))) return undefined;
  return !place.test && TEST_EXTERNAL.includes(name) ? "test-import" : "external-package";
}

function judgeRelative(place: Place, specifier: string): Rule | undefined {
  const target = specifier.startsWith("/") ? specifier : posix.join(posix.dirname(place.path), specifier);
  if (place.folder !== "" && !target.startsWith(`${place.folder}/`)) {
    return target.startsWith("protocols/gen/") ? "generated-code" : "escaping-relative";
  }
  const { unit } = place;
  if (!unit) return undefined;
  const inside = target.slice(unit.folder.length + 1);
  if (!place.test && isTest(inside)) return "test-import";
  for (const { folder } of unit.wider ?? []) {
    if (inside.startsWith(`${folder}/`) && place.wider?.folder !== folder && inside !== `${folder}/index.ts`)
      return "folder-door";
  }
  return undefined;
}

function judgeWorkspace(place: Place, specifier: string, typeOnly: boolean): Rule | undefined {
  const name = packageName(specifier);
  const target = [...UNITS, ...OUTSIDE].find((unit) => unit.name === name);
  if (!target) return "unknown-package";
  if (!isDoor(target, specifier)) return "deep-import";
  // a test may come in by its own front door
  if (name === place.name) return place.test ? undefined : "self-import";
  const { unit } = place;
  if (!unit) return undefined;
  if (place.test) {
    if (edgeTo({ ...unit.workspace, ...place.wider?.workspace, ...TEST_WORKSPACE }, specifier)) return undefined;
    return "package-edge";
  }
  if (OUTSIDE.some((outside) => outside.name === name)) return "test-import";
  const edge = edgeTo({ ...unit.workspace, ...place.wider?.workspace }, specifier);
  if (edge === undefined) return "package-edge";
  return edge === "types" && !typeOnly ? "types-only" : undefined;
}

function isDoor(target: Unit | Outside, specifier: string): boolean {
  const subpath = `.${specifier.slice(target.name?.length)}`;
  return target.doors.some((door) => matches(door, subpath));
}

function edgeTo(allowed: Readonly<Record<string, Edge>>, specifier: string): Edge | undefined {
  return Object.entries(allowed).find(([door]) => matches(door, specifier))?.[1];
}

/** `@scope/name/sub/path` → `@scope/name`; `name/sub` → `name`. */
function packageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

function matches(pattern: string, text: string): boolean {
  return pattern.endsWith("/*")
    ? text.startsWith(pattern.slice(0, -1)) && text.length >= pattern.length
    : text === pattern;
}
