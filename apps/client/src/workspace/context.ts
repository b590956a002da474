import { create } from "@bufbuild/protobuf";
import {
  type GitRepoInfo,
  GitRepoInfoSchema,
  type McpInstructions,
  type McpToolDefinition,
  type RequestContext,
  RequestContextSchema,
} from "@chartroom/protocols/agent";
import os from "node:os";
import { shellProgram } from "../shells/environment.ts";
import type { Folder } from "./folder.ts";
import { git } from "./git.ts";
import { readRules } from "./rules.ts";
import { directoryTree } from "./tree.ts";

const LAYOUT_LIMITS = { entries: 800, depth: 8 };
const MAX_STATUS_CHARS = 20_000;

export interface ContextParts {
  readonly folder: Folder;
  /** Where the output of background commands lies. */
  readonly terminalsFolder: string;
  readonly tools: readonly McpToolDefinition[];
  readonly instructions: readonly McpInstructions[];
}

/** What the client says about its machine and folder (wire section 5.3, request_context); read anew each time. */
export async function requestContext(parts: ContextParts): Promise<RequestContext> {
  const { root } = parts.folder;
  const [rules, repository, layout] = await Promise.all([
    readRules(parts.folder),
    repositoryOf(root),
    directoryTree(root, "", [], LAYOUT_LIMITS).catch(() => undefined),
  ]);
  return create(RequestContextSchema, {
    rules,
    env: {
      osVersion: `${os.platform()} ${os.release()}`,
      workspacePaths: [root],
      shell: shellProgram(),
      terminalsFolder: parts.terminalsFolder,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      projectFolder: root,
      isWorkingDirHomeDir: root === os.homedir(),
      processWorkingDirectory: root,
    },
    gitRepos: repository === undefined ? [] : [repository],
    projectLayouts: layout === undefined ? [] : [layout],
    tools: [...parts.tools],
    mcpInstructions: [...parts.instructions],
    gitRepoInfoComplete: true,
    gitStatusInfoComplete: true,
    rulesInfoComplete: true,
    envInfoComplete: true,
    mcpInfoComplete: true,
  });
}

async function repositoryOf(root: string): Promise<GitRepoInfo | undefined> {
  const top = await git(root, ["rev-parse", "--show-toplevel"]);
  if (top === undefined || top.trim() === "") return undefined;
  const [status, branch, remote] = await Promise.all([
    git(root, ["status", "--short", "--branch", "--", "."]),
    git(root, ["symbolic-ref", "--quiet", "--short", "HEAD"]),
    git(root, ["config", "--get", "remote.origin.url"]),
  ]);
  const url = withoutCredentials(remote?.trim() ?? "");
  return create(GitRepoInfoSchema, {
    path: top.trim(),
    status: cut(status?.trimEnd() ?? ""),
    branchName: branch?.trim() ?? "",
    ...(url === "" ? {} : { remoteUrl: url }),
  });
}

/** A user name or token in a remote's address stays on this machine. */
export function withoutCredentials(remote: string): string {
  return remote.replace(/^([a-z+]+:\/\/)[^/@]*@/i, "$1");
}

function cut(status: string): string {
  if (status.length <= MAX_STATUS_CHARS) return status;
  return `${status.slice(0, status.lastIndexOf("\n", MAX_STATUS_CHARS))}\n…`;
}
