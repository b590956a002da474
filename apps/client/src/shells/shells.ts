import type { Clock } from "@chartroom/domain";
import path from "node:path";
import { type Channel, type ChannelText, Output, type OutputFile } from "./output.ts";
import { type CommandEnd, CommandProcess } from "./process.ts";

export interface ShellRequest {
  readonly command: string;
  readonly cwd: string;
  /** Milliseconds in the foreground; 0: no limit. */
  readonly timeoutMs: number;
  /** What happens then: stop it, or let it go on in the background. */
  readonly onTimeout: "stop" | "background";
  /** Milliseconds after which it is stopped wherever it runs; 0: no limit. */
  readonly hardTimeoutMs: number;
  /** Output above this many bytes goes to a file. */
  readonly thresholdBytes: number;
  readonly stdin: boolean;
  /** Start in the background at once. */
  readonly background: boolean;
  /** The tool call that it belongs to. */
  readonly toolCallId: string;
  readonly title: string;
}

export interface ShellReport {
  readonly stdout: ChannelText;
  readonly stderr: ChannelText;
  readonly location: OutputFile | undefined;
  readonly durationMs: number;
}

export type ShellOutcome =
  | ({ readonly kind: "exit"; readonly code: number; readonly signal: string } & ShellReport)
  | ({ readonly kind: "aborted"; readonly code: number; readonly why: "user" | "timeout" } & ShellReport)
  | { readonly kind: "background"; readonly shell: BackgroundShell; readonly why: "timeout" | "request" }
  | { readonly kind: "spawnError"; readonly error: string };

/** A command that nobody waits for. */
export interface BackgroundShell {
  readonly id: number;
  readonly pid: number;
  readonly command: string;
  readonly cwd: string;
  readonly toolCallId: string;
  readonly title: string;
  /** The file that its output goes to. */
  readonly file: string;
}

export interface BackgroundEnd {
  readonly shell: BackgroundShell;
  readonly code: number;
  readonly aborted: boolean;
}

const ABORTED_CODE = 130;
const TIMED_OUT_CODE = 124;

interface Foreground {
  readonly toBackground: () => void;
}

/** The commands of one client, in front and in the background. Whatever still runs is stopped when it closes. */
export class Shells {
  readonly #clock: Clock;
  readonly #folder: string;
  readonly #processes = new Set<CommandProcess>();
  readonly #background = new Map<number, { shell: BackgroundShell; process: CommandProcess; output: Output }>();
  readonly #foreground = new Map<string, Foreground>();
  #listener: (end: BackgroundEnd) => void = () => undefined;
  #nextId = 1;

  /** `folder` takes the output files. */
  constructor(clock: Clock, folder: string) {
    this.#clock = clock;
    this.#folder = folder;
  }

  /** Called whenever a command in the background ends. */
  onBackgroundEnd(listener: (end: BackgroundEnd) => void): void {
    this.#listener = listener;
  }

  get background(): readonly BackgroundShell[] {
    return [...this.#background.values()].map(({ shell }) => shell);
  }

  /**
   * Runs a command until it ends, is stopped by `signal`, runs into a limit or goes to the background; `onText` gets
   * its output meanwhile.
   */
  async run(
    request: ShellRequest,
    signal: AbortSignal,
    onText: (channel: Channel, text: string) => void,
  ): Promise<ShellOutcome> {
    const id = this.#nextId++;
    const output = new Output({
      thresholdBytes: request.thresholdBytes,
      file: path.join(this.#folder, `${id}.txt`),
    });
    const began = this.#clock.now();
    let inFront = true;
    const command = new CommandProcess(request, output, this.#clock, (channel, text) => {
      if (inFront) onText(channel, text);
    });
    this.#processes.add(command);
    let hard: unknown;
    if (request.hardTimeoutMs > 0) hard = this.#clock.setTimeout(() => command.stop(), request.hardTimeoutMs);
    const left = await this.#inFront(request, command, signal);
    inFront = false;
    if (left.kind === "background" && command.running && command.pid !== undefined) {
      const shell: BackgroundShell = {
        id,
        pid: command.pid,
        command: request.command,
        cwd: request.cwd,
        toolCallId: request.toolCallId,
        title: request.title,
        file: output.keepFile().path,
      };
      this.#background.set(id, { shell, process: command, output });
      void this.#followBackground(shell, command, output, hard);
      return { kind: "background", shell, why: left.why };
    }
    const end = await command.ended;
    if (hard !== undefined) this.#clock.clearTimeout(hard as object);
    this.#ended(command);
    const report: ShellReport = {
      stdout: output.text("stdout"),
      stderr: output.text("stderr"),
      location: output.location(),
      durationMs: this.#clock.now() - began,
    };
    output.close();
    if (end.kind === "spawnError") return end;
    if (left.kind === "stopped") {
      return { ...report, kind: "aborted", why: left.why, code: left.why === "user" ? ABORTED_CODE : TIMED_OUT_CODE };
    }
    return { ...report, kind: "exit", code: end.code, signal: end.signal };
  }

  /** Moves the command of a tool call to the background; false when none runs in front. */
  toBackground(toolCallId: string): boolean {
    const found = this.#foreground.get(toolCallId);
    found?.toBackground();
    return found !== undefined;
  }

  /** Types into a command in the background; gives the length of its output file before, or why not. */
  type(id: number, chars: string): { readonly ok: true; readonly before: number } | { readonly ok: false } {
    const found = this.#background.get(id);
    if (found === undefined || !found.process.type(chars)) return { ok: false };
    return { ok: true, before: found.output.location()?.sizeBytes ?? 0 };
  }

  /** Stops a command in the background; false when there is none of that number. */
  stop(id: number): boolean {
    const found = this.#background.get(id);
    found?.process.stop();
    return found !== undefined;
  }

  /** Stops by force whatever still runs. */
  close(): void {
    this.#listener = () => undefined;
    for (const command of this.#processes) if (command.hasSurvivors) command.kill();
  }

  /** What a command left running behind it is stopped when the client closes. */
  #ended(command: CommandProcess): void {
    if (!command.hasSurvivors) this.#processes.delete(command);
  }

  #inFront(request: ShellRequest, command: CommandProcess, signal: AbortSignal): Promise<LeftFront> {
    if (request.background) return Promise.resolve({ kind: "background", why: "request" });
    return new Promise((resolve) => {
      const stopFor = (why: "user" | "timeout") => {
        command.stop();
        leave({ kind: "stopped", why });
      };
      const aborted = () => stopFor("user");
      const timer =
        request.timeoutMs > 0
          ? this.#clock.setTimeout(() => {
              if (request.onTimeout === "stop") stopFor("timeout");
              else leave({ kind: "background", why: "timeout" });
            }, request.timeoutMs)
          : undefined;
      const foreground: Foreground = { toBackground: () => leave({ kind: "background", why: "request" }) };
      const leave = (how: LeftFront) => {
        if (timer !== undefined) this.#clock.clearTimeout(timer);
        signal.removeEventListener("abort", aborted);
        if (this.#foreground.get(request.toolCallId) === foreground) this.#foreground.delete(request.toolCallId);
        resolve(how);
      };
      signal.addEventListener("abort", aborted, { once: true });
      if (request.toolCallId !== "") this.#foreground.set(request.toolCallId, foreground);
      void command.ended.then(() => leave({ kind: "ended" }));
      if (signal.aborted) aborted();
    });
  }

  async #followBackground(shell: BackgroundShell, command: CommandProcess, output: Output, hard: unknown) {
    const end: CommandEnd = await command.ended;
    if (hard !== undefined) this.#clock.clearTimeout(hard as object);
    this.#ended(command);
    this.#background.delete(shell.id);
    output.close();
    const code = end.kind === "exit" ? end.code : 1;
    this.#listener({ shell, code, aborted: end.kind === "exit" && end.signal !== "" });
  }
}

type LeftFront =
  | { readonly kind: "ended" }
  | { readonly kind: "stopped"; readonly why: "user" | "timeout" }
  | { readonly kind: "background"; readonly why: "timeout" | "request" };
