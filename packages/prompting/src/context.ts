import type {
  EnvironmentContext,
  McpServerContext,
  RepositoryContext,
  RequestContext,
  RuleContext,
  SkillContext,
  SubagentContext,
} from "@chartroom/domain";
import type { ContextSection } from "@chartroom/history";
import { byText, oneLine } from "./text.ts";

export interface ContextOptions {
  /** The date at the user's place, `2026-11-30`; a section of its own, because it changes. */
  readonly date?: string;
  /** Client texts that are in the system text already; a cloud rule that says the same is left out. */
  readonly inSystem?: readonly string[];
}

/**
 * The request context as sections, each rendered on its own from its own data, with its entries in order: equal data gives
 * equal text. Sections that seldom change come first. A section without content is left out.
 */
export function contextSections(context: RequestContext, options: ContextOptions = {}): readonly ContextSection[] {
  const inSystem = new Set((options.inSystem ?? []).map((text) => text.trim()));
  const cloudRule = context.cloudRule?.trim() ?? "";
  return [
    section("rules", rules(context.rules)),
    section("cloud_rule", inSystem.has(cloudRule) ? "" : cloudRule),
    section("skills", skills(context.skills)),
    section("subagents", subagents(context.subagents)),
    section("mcp", mcpServers(context.mcpServers)),
    section("denied_commands", denied(context.adminCommandDenylist)),
    section("hooks", context.hooksContext?.trim() ?? ""),
    section("environment", environment(context.env)),
    section("project_layout", layouts(context.projectLayouts)),
    section("git", repositories(context.repositories)),
    section("date", options.date ?? ""),
  ].flat();
}

function section(name: string, body: string): readonly ContextSection[] {
  return body === "" ? [] : [{ name, text: `<${name}>\n${body}\n</${name}>` }];
}

function environment(env: EnvironmentContext | undefined): string {
  if (env === undefined) return "";
  return lines([
    ["Operating system", env.osVersion],
    ["Shell", env.shell],
    ["Workspace folders", env.workspacePaths.toSorted(byText).join(", ")],
    ["Project folder", env.projectFolder],
    ["Terminals folder", env.terminalsFolder],
    ["Time zone", env.timeZone],
    ["Sandbox", env.sandboxEnabled ? "commands run in a sandbox" : ""],
  ]);
}

function lines(entries: readonly (readonly [string, string])[]): string {
  return entries
    .filter(([, value]) => value !== "")
    .map(([label, value]) => `${label}: ${value}`)
    .join("\n");
}

function rules(all: readonly RuleContext[]): string {
  const sorted = all.toSorted((a, b) => byText(a.path, b.path) || byText(a.content, b.content));
  const applied = sorted
    .filter((rule) => rule.kind === "always")
    .map((rule) => `<rule path="${rule.path}">\n${rule.content.trim()}\n</rule>`);
  const listed = sorted
    .filter((rule) => rule.kind !== "always")
    .map((rule) => {
      const globs = rule.globs.length === 0 ? "" : ` (for ${rule.globs.toSorted(byText).join(", ")})`;
      const about = oneLine(rule.description);
      return `- ${rule.path}${globs}${about === "" ? "" : `: ${about}`}`;
    });
  return [
    ...(applied.length === 0 ? [] : ["These apply to everything you do:", ...applied]),
    ...(listed.length === 0 ? [] : ["Read one of these when what you work on is what it is for:", ...listed]),
  ].join("\n");
}

function skills(all: readonly SkillContext[]): string {
  return all
    .toSorted((a, b) => byText(a.name, b.name) || byText(a.path, b.path))
    .map((skill) => `- ${skill.name} (${skill.path}): ${oneLine(skill.description)}`)
    .join("\n");
}

function subagents(all: readonly SubagentContext[]): string {
  return all
    .toSorted((a, b) => byText(a.name, b.name))
    .map((agent) => `- ${agent.name}: ${oneLine(agent.description)}`)
    .join("\n");
}

function mcpServers(all: readonly McpServerContext[]): string {
  return all
    .toSorted((a, b) => byText(a.name, b.name))
    .map((server) => {
      const told = server.instructions.trim();
      return told === "" ? `- ${server.name}` : `- ${server.name}:\n${told}`;
    })
    .join("\n");
}

function denied(patterns: readonly string[]): string {
  if (patterns.length === 0) return "";
  return ["The administrator does not allow these commands:", ...patterns.toSorted(byText).map((p) => `- ${p}`)].join(
    "\n",
  );
}

function layouts(all: RequestContext["projectLayouts"]): string {
  return all
    .toSorted((a, b) => byText(a.root, b.root))
    .map((layout) => `${layout.root}\n${layout.tree.trimEnd()}`)
    .join("\n\n");
}

function repositories(all: readonly RepositoryContext[]): string {
  return all
    .toSorted((a, b) => byText(a.path, b.path))
    .map((repository) =>
      lines([
        ["Repository", repository.path],
        ["Branch", repository.branch],
        ["Remote", repository.remote ?? ""],
        ["Status", repository.status.trimEnd() === "" ? "clean" : `\n${repository.status.trimEnd()}`],
      ]),
    )
    .join("\n\n");
}
