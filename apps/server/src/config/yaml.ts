import fs from "node:fs";
import { parseDocument } from "yaml";
import type { ConfigProblem } from "./problem.ts";

export type YamlFile =
  | { readonly kind: "read"; readonly value: unknown }
  /** There is no such file, and nobody asked for it by name. */
  | { readonly kind: "absent" }
  | { readonly kind: "broken" };

/** Reads a YAML file; duplicate keys are errors. `needed`: its absence is a problem. */
export function readYaml(file: string, needed: boolean, problems: ConfigProblem[]): YamlFile {
  let text: string;
  try {
    text = fs.readFileSync(file, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (missing && !needed) return { kind: "absent" };
    problems.push({ path: "", reason: missing ? "there is no such file" : "the file cannot be read" });
    return { kind: "broken" };
  }
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true });
  const lineOf = (offset: number): number => text.slice(0, offset).split("\n").length;
  for (const error of document.errors)
    problems.push({ path: `line ${lineOf(error.pos[0])}`, reason: `not YAML (${error.code})` });
  if (document.errors.length > 0) return { kind: "broken" };
  try {
    return { kind: "read", value: document.toJS({ maxAliasCount: 100 }) as unknown };
  } catch {
    problems.push({ path: "", reason: "an alias names nothing, or too many of them" });
    return { kind: "broken" };
  }
}
