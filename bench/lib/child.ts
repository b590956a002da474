import { spawn } from "node:child_process";

export interface Child {
  readonly pid: number;
  /** What `ready` found in its output. */
  readonly found: string;
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Looked for in its output; the first group is what it found. */
  readonly ready: RegExp;
  readonly timeoutMs: number;
}

const KEPT = 20_000;

/** Starts a Node program, waits until its output says that it is ready, and knows how to end it. */
export function startChild({ args, env, cwd, ready, timeoutMs }: ChildOptions): Promise<Child> {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...args], {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), 20_000);
    await exited;
    clearTimeout(hard);
  };
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (why: string): void => {
      void stop();
      reject(new Error(`${args.join(" ")}: ${why}\n${output}`));
    };
    const timer = setTimeout(() => fail("not ready in time"), timeoutMs);
    const look = (text: string): void => {
      output = (output + text).slice(-KEPT);
      const found = ready.exec(output);
      if (!found || child.pid === undefined) return;
      clearTimeout(timer);
      resolve({ pid: child.pid, found: found[1] ?? "", stop });
    };
    child.stdout.setEncoding("utf8").on("data", look);
    child.stderr.setEncoding("utf8").on("data", look);
    child.once("error", (error) => fail(error.message));
    void exited.then(() => {
      clearTimeout(timer);
      reject(new Error(`${args.join(" ")}: ended before it was ready\n${output}`));
    });
  });
}
