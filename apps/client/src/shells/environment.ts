import { accessSync, constants } from "node:fs";
import path from "node:path";

const KNOWN = new Set(["bash", "zsh", "sh", "dash", "ksh"]);
const FALLBACKS = ["/bin/bash", "/bin/sh"];

/** The shell that runs commands: the user's own when it takes `-c` as a POSIX shell does, else one that is there. */
export function shellProgram(env: NodeJS.ProcessEnv = process.env): string {
  const own = env["SHELL"];
  const candidates = own !== undefined && KNOWN.has(path.basename(own)) ? [own, ...FALLBACKS] : FALLBACKS;
  return candidates.find(isExecutable) ?? "sh";
}

/** Set by this client's own start, through npm too; a program in the folder must not take them for its own. */
const OWN =
  /^(CHARTROOM_.*|INIT_CWD|npm_(package|lifecycle)_.*|npm_(command|execpath|node_execpath)|npm_config_(local_)?prefix)$/;

/** What a program started for the model sees: the user's environment without this client's own settings, and no pager. */
export function childEnvironment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !OWN.test(name)));
  return { ...kept, PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0", TERM: "dumb" };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
