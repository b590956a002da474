import { choice, integer, list, optional, string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { nativeTool, type CallSite } from "../native/tool.ts";
import { agent, create, type ToolVariant } from "../wire.ts";
import { DEFAULT_BLOCK_MS, HARD_TIMEOUT_MS, shellArgs } from "./args.ts";
import { shellProgram } from "./program.ts";
import { shellSpawnError, shellToldResult } from "./result.ts";

const args = shape({
  command: string("The command line."),
  description: optional(string("What it does, in five to ten words, for the user.")),
  working_directory: optional(
    string("Folder to run it in, absolute or from the workspace folder; without it the workspace folder."),
  ),
  block_until_ms: optional(
    integer(
      `Milliseconds to wait for its end, ${DEFAULT_BLOCK_MS} if not given. A command that takes longer goes on in the background. For a server or a watcher give 0.`,
      { min: 0, max: HARD_TIMEOUT_MS },
    ),
  ),
  required_permissions: optional(
    list(
      choice(["full_network", "all"], "Permission."),
      "What it needs beyond the sandbox, if there is one: the network (full_network), or to run outside of it (all). The user may be asked.",
      { max: 2 },
    ),
  ),
});
type Args = ArgumentsOf<typeof args>;

/** Shell (exec 14). */
export const shell = nativeTool({
  name: "Shell",
  description:
    "Runs a command line in the user's shell and gives its exit code and output. Each call starts in the workspace folder unless working_directory is given. Nothing can be typed into it: pass flags that avoid questions, and no pager. Quote paths with spaces. To read, search, write or delete files use the tools for that. Join commands that depend on each other with &&; make independent ones separate calls in one step.",
  shape: args,
  changes: true,
  variant,
  failed: (text, given) => shellSpawnError(given.command ?? "", given.working_directory ?? "", text),
  told: (text, given) => shellToldResult(given.command ?? "", given.working_directory ?? "", text),
  program(given, site) {
    const wire = wireArgs(given, site);
    return shellProgram({
      args: wire,
      terminalsFolder: site.scope.context?.env?.terminalsFolder ?? "",
      variant: (result) => shellVariant(wire, given.description, result),
    });
  },
});

function variant(given: Partial<Args>, site: CallSite, result?: agent.ShellResult): ToolVariant {
  const wire = given.command === undefined ? create(agent.ShellArgsSchema) : wireArgs(given, site);
  return shellVariant(wire, given.description, result);
}

function wireArgs(given: Partial<Args>, site: CallSite): agent.ShellArgs {
  const { command = "", description, working_directory, block_until_ms, required_permissions } = given;
  return shellArgs(
    {
      command,
      description,
      workingDirectory: working_directory,
      blockUntilMs: block_until_ms,
      permissions: required_permissions,
    },
    site,
  );
}

function shellVariant(
  wire: agent.ShellArgs,
  description: string | undefined,
  result: agent.ShellResult | undefined,
): ToolVariant {
  const value = create(agent.ShellToolCallSchema, {
    args: wire,
    ...(description !== undefined && { description }),
    ...(result !== undefined && { result }),
  });
  return { case: "shellToolCall", value };
}
