import * as answers from "./answers.ts";
import { forceBackground, spawnBackground, writeStdin } from "./background.ts";
import { remove } from "./delete.ts";
import type { ExecCase, ExecHandler } from "./exec.ts";
import { grep } from "./grep.ts";
import { ls } from "./ls.ts";
import { listResources, mcpState, readResource } from "./mcp-resources.ts";
import { mcp } from "./mcp.ts";
import { read } from "./read.ts";
import { miniBash, shell, shellStream } from "./shell.ts";
import { subagent } from "./subagent.ts";
import { write } from "./write.ts";

/** What this client can do. A kind that is missing is answered with `throw` (wire section 5.1). */
export const HANDLERS: { readonly [C in ExecCase]?: ExecHandler<C> } = {
  shellArgs: shell,
  shellStreamArgs: shellStream,
  miniSweAgentBashArgs: miniBash,
  backgroundShellSpawnArgs: spawnBackground,
  writeShellStdinArgs: writeStdin,
  forceBackgroundShellArgs: forceBackground,
  readArgs: read,
  writeArgs: write,
  deleteArgs: remove,
  lsArgs: ls,
  grepArgs: grep,
  diagnosticsArgs: answers.diagnostics,
  requestContextArgs: answers.context,
  mcpArgs: mcp,
  mcpStateExecArgs: mcpState,
  listMcpResourcesExecArgs: listResources,
  readMcpResourceExecArgs: readResource,
  subagentArgs: subagent,
  executeHookArgs: answers.hook,
  shellAllowlistPrecheckArgs: answers.shellPrecheck,
  mcpAllowlistPrecheckArgs: answers.mcpPrecheck,
  webFetchAllowlistPrecheckArgs: answers.webFetchPrecheck,
};
