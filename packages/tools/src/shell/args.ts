import { agent, create } from "../wire.ts";
import type { CallSite } from "../native/tool.ts";
import { resolvePath, workspaceOf } from "../native/paths.ts";
import { isDuplication } from "./parser/redirects.ts";
import { parseShell, type ShellRedirect, type ShellScript } from "./parser/parse.ts";

export interface ShellRequest {
  readonly command: string;
  readonly workingDirectory?: string | undefined;
  readonly blockUntilMs?: number | undefined;
  readonly description?: string | undefined;
  readonly permissions?: readonly ShellPermission[] | undefined;
}

export type ShellPermission = "full_network" | "all";

export const DEFAULT_BLOCK_MS = 30_000;
/** The client kills a command, in the background too, after a day. */
export const HARD_TIMEOUT_MS = 86_400_000;
/** Output from this size on the client keeps in a file and gives by its place. */
const FILE_OUTPUT_THRESHOLD_BYTES = 40_000n;

/** The arguments of a shell exec, filled as wire section 5.3 says. The same message stands in the card. */
export function shellArgs(request: ShellRequest, site: CallSite): agent.ShellArgs {
  const { context, conversationId } = site.scope;
  const { command } = request;
  const script = readsAsPosix(context?.env?.shell ?? "") ? parseShell(command) : undefined;
  const folder = request.workingDirectory;
  const sandbox = sandboxPolicy(request.permissions ?? [], context?.env?.sandboxEnabled ?? false);
  return create(agent.ShellArgsSchema, {
    command,
    workingDirectory: folder === undefined || folder === "" ? workspaceOf(site.scope) : resolvePath(site.scope, folder),
    // the client takes 0 for "no limit"; what is to go to the background at once goes after a millisecond
    timeout: Math.max(1, request.blockUntilMs ?? DEFAULT_BLOCK_MS),
    timeoutBehavior: agent.TimeoutBehavior.BACKGROUND,
    hardTimeout: HARD_TIMEOUT_MS,
    toolCallId: site.callId,
    simpleCommands: (script?.commands ?? []).map(({ name }) => name),
    hasInputRedirect: redirects(script, (operator) => operator.startsWith("<")),
    hasOutputRedirect: redirects(script, (operator) => operator.includes(">") && operator !== "<>"),
    parsingResult: parsingResult(script),
    fileOutputThresholdBytes: FILE_OUTPUT_THRESHOLD_BYTES,
    closeStdin: true,
    conversationId,
    adminCommandDenylist: [...(context?.adminCommandDenylist ?? [])],
    ...(request.description !== undefined && { description: request.description }),
    ...(sandbox !== undefined && { requestedSandboxPolicy: sandbox }),
  });
}

/** Shells with another grammar are not read at all: what looks like one command may be two there. */
function readsAsPosix(shell: string): boolean {
  const name = shell.toLowerCase().split(/[/\\]/).at(-1) ?? "";
  return !/^(?:powershell|pwsh|cmd|fish|nu|csh|tcsh|xonsh|elvish)(?:[-.\d]|$)/.test(name);
}

function redirects(script: ShellScript | undefined, of: (operator: string) => boolean): boolean {
  return script?.redirects.some((redirect) => !isDuplication(redirect) && of(redirect.operator)) ?? false;
}

function parsingResult(script: ShellScript | undefined): agent.ShellCommandParsingResult {
  if (script === undefined) return create(agent.ShellCommandParsingResultSchema, { parsingFailed: true });
  const { commands, redirects, substitutes } = script;
  return create(agent.ShellCommandParsingResultSchema, {
    executableCommands: commands.map(({ name, args, fullText }) => ({ name, args: [...args], fullText })),
    hasRedirects: redirects.length > 0,
    hasCommandSubstitution: substitutes,
    redirects: redirects.map(redirectOf),
    ...(redirects.length > 0 && {
      allRedirectsAreDevNull: redirects.every(({ target }) => target.value === "/dev/null"),
    }),
  });
}

function redirectOf({ operator, fds, target }: ShellRedirect) {
  return { operator, destinationFds: [...fds], targetNodeType: target.type, targetText: target.value };
}

/** `all`: outside of any sandbox; `full_network`: writes in the workspace, any network; none: as the sandbox is by default. */
function sandboxPolicy(permissions: readonly ShellPermission[], enabled: boolean): agent.SandboxPolicy | undefined {
  const { Type } = sandboxTypes;
  if (permissions.includes("all"))
    return create(agent.SandboxPolicySchema, { type: Type.INSECURE_NONE, networkAccess: true });
  if (permissions.includes("full_network"))
    return create(agent.SandboxPolicySchema, { type: Type.WORKSPACE_READWRITE, networkAccess: true });
  return enabled
    ? create(agent.SandboxPolicySchema, { type: Type.WORKSPACE_READWRITE, networkAccess: false })
    : undefined;
}

const sandboxTypes = { Type: agent.SandboxPolicy_Type };
