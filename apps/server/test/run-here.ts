import { onTestFinished, vi } from "vitest";
import { runCli } from "../src/cli.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the program in this process, with this environment and nothing of the test's own. */
export async function runHere(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const told = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      told[name] += String(text);
      return true;
    }),
  );
  const before = process.env;
  process.env = { PATH: before["PATH"], ...env };
  onTestFinished(() => void (process.env = before));
  process.exitCode = undefined;
  try {
    await runCli(args);
    return { code: exitCode(), ...told };
  } finally {
    process.exitCode = undefined;
    process.env = before;
    for (const spy of spies) spy.mockRestore();
  }
}

function exitCode(): number {
  return Number(process.exitCode ?? 0);
}
