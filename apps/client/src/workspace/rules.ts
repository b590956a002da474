import { create } from "@bufbuild/protobuf";
import {
  type CursorRule,
  CursorRuleSchema,
  CursorRuleSource,
  type CursorRuleType,
  CursorRuleTypeSchema,
} from "@chartroom/protocols/agent";
import fs from "node:fs/promises";
import path from "node:path";
import type { Folder } from "./folder.ts";
import { listFiles } from "./list.ts";

const RULES_FOLDER = ".cursor/rules";
const MAX_RULES = 100;
const MAX_RULE_BYTES = 64 * 1024;

/** The rules of the folder: `AGENTS.md` in its root, and `.cursor/rules` at any depth of that folder. */
export async function readRules(folder: Folder): Promise<CursorRule[]> {
  const { files } = await listFiles(folder.root, RULES_FOLDER);
  const names = ["AGENTS.md", ...files.filter((file) => /\.mdc?$/.test(file))].slice(0, MAX_RULES);
  const rules = await Promise.all(names.map((name) => readRule(folder, name)));
  return rules.filter((rule) => rule !== undefined);
}

async function readRule(folder: Folder, name: string): Promise<CursorRule | undefined> {
  const located = await folder.locate(name);
  if (!located.ok) return undefined;
  try {
    const stat = await fs.stat(located.real);
    if (!stat.isFile() || stat.size > MAX_RULE_BYTES) return undefined;
    return ruleOf(path.join(folder.root, name), await fs.readFile(located.real, "utf8"));
  } catch {
    // no such rule
    return undefined;
  }
}

/**
 * A rule file as the wire has it. `.mdc` files begin with a block between `---` lines that says when the rule applies:
 * `alwaysApply: true` always, `globs` for files, `description` when the model asks for it, none of them by hand.
 */
export function ruleOf(fullPath: string, text: string): CursorRule {
  const parts = fullPath.endsWith(".mdc") ? /^---\r?\n([^]*?)\r?\n?---(?:\r?\n|$)([^]*)$/.exec(text) : null;
  const frontmatter = parts?.[1] ?? "";
  return create(CursorRuleSchema, {
    fullPath,
    content: parts === null ? text : (parts[2] ?? ""),
    frontmatter,
    source: CursorRuleSource.USER,
    type: fullPath.endsWith(".mdc") ? typeOf(frontmatter) : global(),
  });
}

function typeOf(frontmatter: string): CursorRuleType {
  const field = (name: string) =>
    new RegExp(`^${name}:[ \\t]*(.*)$`, "m")
      .exec(frontmatter)?.[1]
      ?.trim()
      .replace(/^(["'])(.*)\1$/, "$2") ?? "";
  if (field("alwaysApply") === "true") return global();
  const globs = globList(field("globs"), frontmatter);
  if (globs.length > 0) return create(CursorRuleTypeSchema, { type: { case: "fileGlobbed", value: { globs } } });
  const description = field("description");
  if (description !== "") {
    return create(CursorRuleTypeSchema, { type: { case: "agentFetched", value: { description } } });
  }
  return create(CursorRuleTypeSchema, { type: { case: "manuallyAttached", value: {} } });
}

/** `globs: a, b`, `globs: [a, "b"]` or a list below it. */
function globList(inline: string, frontmatter: string): string[] {
  const block = inline === "" ? (/^globs:[ \t]*\r?\n((?:[ \t]*-[^\n]*\n?)+)/m.exec(frontmatter)?.[1] ?? "") : "";
  const items = block === "" ? inline.replace(/^\[(.*)\]$/, "$1").split(",") : block.split("\n");
  return items
    .map((item) =>
      item
        .trim()
        .replace(/^-\s*/, "")
        .replace(/^(["'])(.*)\1$/, "$2"),
    )
    .filter((item) => item !== "");
}

function global(): CursorRuleType {
  return create(CursorRuleTypeSchema, { type: { case: "global", value: {} } });
}
