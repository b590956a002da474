import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { performance } from "node:perf_hooks";
import type { WorkCopy } from "./copy.ts";
import type { SuiteName } from "./suites.ts";
import { suites } from "./suites.ts";

/** How a run of a suite went; `failed` names the first test that failed, or says how else the run ended. */
export interface SuiteRun {
  readonly passed: boolean;
  readonly failed: string;
  readonly seconds: number;
}

/** Runs a suite in a copy until its first failure. `limitMs`: a run that takes longer has failed: the fault makes something wait for ever. */
export async function runSuite(
  copy: WorkCopy,
  name: SuiteName,
  database: string | undefined,
  limitMs: number,
  stop: AbortSignal,
): Promise<SuiteRun> {
  const { args, env } = { env: {}, ...suites[name] };
  const report = path.join(copy.folder, "mutate-report.json");
  fs.rmSync(report, { force: true });
  const begun = performance.now();
  const child = spawn(
    process.execPath,
    [
      path.join(copy.folder, "node_modules/vitest/vitest.mjs"),
      ...["run", ...args, "--bail=1", "--reporter=json", `--outputFile=${report}`],
    ],
    {
      cwd: copy.folder,
      // a group of its own: what a test has started ends with it
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, ...env, ...(database === undefined ? {} : { TEST_DATABASE_URL: database }) },
    },
  );
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-2_000)));
  let overtime = false;
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // it has ended by itself
    }
  };
  const timer = setTimeout(() => {
    overtime = true;
    end();
  }, limitMs);
  stop.addEventListener("abort", end);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  stop.removeEventListener("abort", end);
  clearTimeout(timer);
  end();
  const seconds = (performance.now() - begun) / 1_000;
  if (overtime) return { passed: false, failed: `${name}: no end within ${Math.round(limitMs / 1_000)} s`, seconds };
  if (code === 0) return { passed: true, failed: "", seconds };
  return { passed: false, failed: firstFailure(report) ?? `${name}: ${lastLine(errors)}`, seconds };
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function firstFailure(report: string): string | undefined {
  if (!fs.existsSync(report)) return undefined;
  const { testResults } = JSON.parse(fs.readFileSync(report, "utf8")) as Report;
  for (const { name, assertionResults } of testResults) {
    const test = assertionResults.find((one) => one.status === "failed");
    if (test) return `${path.basename(name)}: ${test.fullName}`;
  }
  // a file that does not load has no tests; one that was not begun when another failed has no message
  const file = testResults.find(({ status, message }) => status === "failed" && message);
  return file && `${path.basename(file.name)}: ${lastLine(file.message ?? "")}`;
}

function lastLine(text: string): string {
  const [line = "ended without a word"] = text
    .split("\n")
    .map((one) => one.trim())
    .filter((one) => one !== "");
  return line.slice(0, 160);
}
