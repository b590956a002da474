import { execFile } from "node:child_process";

const TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Output of a read-only git command in a folder, or undefined when git is missing, the folder is no repository, or it
 * takes too long. A file system monitor that the repository configures is not started, and no lock is taken.
 */
export function git(folder: string, args: readonly string[], input?: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = execFile(
      "git",
      ["-C", folder, "-c", "core.fsmonitor=false", ...args],
      {
        timeout: TIMEOUT_MS,
        maxBuffer: MAX_OUTPUT_BYTES,
        env: { ...process.env, GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0" },
      },
      // `check-ignore` says with 1 that nothing is ignored
      (error, stdout) => resolve(error !== null && error.code !== 1 ? undefined : stdout),
    );
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  });
}

/** The names that git ends with NUL. */
export function splitNames(output: string): string[] {
  return output.split("\0").filter((name) => name !== "");
}
