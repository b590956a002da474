import type { Clock } from "@chartroom/domain";
import { type ChildProcess, spawn } from "node:child_process";
import os from "node:os";
import { childEnvironment, shellProgram } from "./environment.ts";
import type { Channel, Output } from "./output.ts";

export interface CommandSpec {
  readonly command: string;
  readonly cwd: string;
  /** Whether something may be typed into it later. */
  readonly stdin: boolean;
}

export type CommandEnd =
  | { readonly kind: "exit"; readonly code: number; readonly signal: string }
  | { readonly kind: "spawnError"; readonly error: string };

/** After this, a command that does not stop when asked is stopped by force. */
const KILL_AFTER_MS = 2_000;
/** How long output may follow a shell that has ended; a program it left behind can hold the pipe for ever. */
const DRAIN_MS = 250;

/** One command in a process group of its own, so that it can be stopped with all that it started. */
export class CommandProcess {
  readonly ended: Promise<CommandEnd>;
  readonly #child: ChildProcess | undefined;
  readonly #clock: Clock;
  #running = true;

  constructor(spec: CommandSpec, output: Output, clock: Clock, onText: (channel: Channel, text: string) => void) {
    this.#clock = clock;
    try {
      this.#child = spawn(shellProgram(), ["-c", spec.command], {
        cwd: spec.cwd,
        env: childEnvironment(),
        detached: true,
        stdio: [spec.stdin ? "pipe" : "ignore", "pipe", "pipe"],
      });
    } catch (error) {
      // some reasons come at once, others as an event
      this.#running = false;
      this.ended = Promise.resolve({ kind: "spawnError", error: (error as Error).message });
      return;
    }
    // a program may end before it has read what was typed
    this.#child.stdin?.on("error", () => undefined);
    this.ended = this.#watch(this.#child, output, onText);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Whether something of its group still runs, also after the command itself has ended. */
  get hasSurvivors(): boolean {
    const { pid } = this;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, 0);
    } catch {
      return false;
    }
  }

  /** Types into the command; false when it takes no input (any more). */
  type(chars: string): boolean {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) return false;
    stdin.write(chars);
    return true;
  }

  /** Stops the whole group: asked first, forced soon after. */
  stop(): void {
    this.#signal("SIGTERM");
    this.#clock.setTimeout(() => this.#signal("SIGKILL"), KILL_AFTER_MS);
  }

  /** Stops the whole group by force and at once. */
  kill(): void {
    this.#signal("SIGKILL");
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // the group is gone
    }
  }

  #watch(child: ChildProcess, output: Output, onText: (channel: Channel, text: string) => void): Promise<CommandEnd> {
    const emit = (channel: Channel, texts: readonly string[]) => {
      for (const text of texts) onText(channel, text);
    };
    for (const channel of ["stdout", "stderr"] as const) {
      const stream = child[channel];
      stream?.on("data", (bytes: Uint8Array) => {
        if (this.#running) emit(channel, output.write(channel, bytes));
      });
      stream?.on("error", () => undefined);
    }
    return new Promise((resolve) => {
      const finish = (end: CommandEnd) => {
        if (!this.#running) return;
        emit("stdout", output.end("stdout"));
        emit("stderr", output.end("stderr"));
        this.#running = false;
        resolve(end);
      };
      child.once("error", (error) => finish({ kind: "spawnError", error: error.message }));
      child.once("exit", (code, signal) => {
        const end = { kind: "exit", code: code ?? 128 + signalNumber(signal), signal: signal ?? "" } as const;
        child.once("close", () => finish(end));
        this.#clock.setTimeout(() => finish(end), DRAIN_MS);
      });
    });
  }
}

function signalNumber(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : os.constants.signals[signal];
}
