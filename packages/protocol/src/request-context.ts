import type {
  EnvironmentContext,
  McpServerContext,
  RepositoryContext,
  RequestContext,
  RuleContext,
  SkillContext,
} from "@chartroom/domain";
import type {
  RequestContext as WireContext,
  RequestContextEnv as WireEnv,
  GitRepoInfo,
} from "@chartroom/protocols/agent/v1/request_context";
import type { AgentSkill, CursorRule } from "@chartroom/protocols/agent/v1/rules";
import { directoryTree } from "./directory-tree.ts";
import { mcpOffers } from "./mcp-offer.ts";

/** The domain's view of a `RequestContext` (wire section 5.3). What it does not name stays behind. */
export function fromWireContext(wire: WireContext): RequestContext {
  return {
    ...(wire.env === undefined ? {} : { env: environment(wire.env) }),
    rules: uniqueBy([...wire.rules, ...wire.nonFileRules].map(rule), (entry) => `${entry.path}\n${entry.content}`),
    repositories: wire.gitRepos.map(repository),
    skills: skills(wire),
    subagents: uniqueBy(
      wire.customSubagents.map(({ name, description }) => ({ name, description })),
      (entry) => entry.name,
    ),
    mcpServers: mcpServers(wire),
    tools: mcpOffers(wire.tools),
    projectLayouts: wire.projectLayouts.map((root) => ({ root: root.absPath, tree: directoryTree(root) })),
    ...text("cloudRule", wire.cloudRule),
    ...text("hooksContext", wire.hooksAdditionalContext),
    ...(wire.readLintsEnabled === undefined ? {} : { readLintsEnabled: wire.readLintsEnabled }),
    ...(wire.webSearchEnabled === undefined ? {} : { webSearchEnabled: wire.webSearchEnabled }),
    ...(wire.webFetchEnabled === undefined ? {} : { webFetchEnabled: wire.webFetchEnabled }),
    adminCommandDenylist: wire.adminCommandDenylist,
  };
}

function environment(env: WireEnv): EnvironmentContext {
  return {
    osVersion: env.osVersion,
    shell: env.shell,
    workspacePaths: env.workspacePaths,
    timeZone: env.timeZone,
    projectFolder: env.projectFolder,
    terminalsFolder: env.terminalsFolder,
    sandboxEnabled: env.sandboxEnabled,
  };
}

function rule(wire: CursorRule): RuleContext {
  const type = wire.type?.type;
  const base = { path: wire.fullPath, content: wire.content, globs: [], description: "" };
  switch (type?.case) {
    case "fileGlobbed":
      return { ...base, kind: "glob", globs: type.value.globs };
    case "agentFetched":
      return { ...base, kind: "agent", description: type.value.description };
    case "manuallyAttached":
      return { ...base, kind: "manual" };
    default:
      return { ...base, kind: "always" };
  }
}

function repository(repo: GitRepoInfo): RepositoryContext {
  return { path: repo.path, branch: repo.branchName, status: repo.status, ...text("remote", repo.remoteUrl) };
}

/** Skills come as files with front matter, as descriptors, or as both; a skill that only the user may invoke is left out. */
function skills(wire: WireContext): readonly SkillContext[] {
  const files = wire.agentSkills
    .filter((skill) => !skill.disableModelInvocation)
    .map((skill) => ({ name: skillName(skill), description: skill.description, path: skill.fullPath }));
  const descriptors = (wire.skillOptions?.skillDescriptors ?? [])
    .filter((skill) => skill.enabled)
    .map((skill) => ({
      name: skill.name,
      description: skill.description,
      path: skill.readmeFilePath === "" ? skill.folderPath : skill.readmeFilePath,
    }));
  return uniqueBy([...files, ...descriptors], (skill) => skill.path);
}

/** A skill is named after the folder of its `SKILL.md`, else after its file. */
function skillName(skill: AgentSkill): string {
  const parts = skill.fullPath.split(/[/\\]/).filter((part) => part !== "");
  const file = parts.at(-1) ?? "";
  return /^skill\.md$/i.test(file) ? (parts.at(-2) ?? file) : file.replace(/\.[^.]+$/, "");
}

/** Instructions come on their own, or in the descriptors of the servers. */
function mcpServers(wire: WireContext): readonly McpServerContext[] {
  const own = wire.mcpInstructions.map((server) => ({ name: server.serverName, instructions: server.instructions }));
  const descriptors = [
    ...(wire.mcpMetaToolOptions?.mcpDescriptors ?? []),
    ...(wire.mcpFileSystemOptions?.mcpDescriptors ?? []),
  ].map((server) => ({ name: server.serverName, instructions: server.serverUseInstructions ?? "" }));
  return uniqueBy(
    [...own, ...descriptors].filter((server) => server.instructions !== ""),
    (server) => server.name,
  );
}

/** The first of each key, in order. */
function uniqueBy<T>(list: readonly T[], key: (entry: T) => string): readonly T[] {
  const seen = new Set<string>();
  return list.filter((entry) => {
    const name = key(entry);
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function text<Name extends string>(name: Name, value: string | undefined): { readonly [K in Name]?: string } {
  return (value === undefined || value === "" ? {} : { [name]: value }) as { readonly [K in Name]?: string };
}
