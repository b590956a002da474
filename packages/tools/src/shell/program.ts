import type { InterruptReason } from "@chartroom/domain";
import { pieces } from "../cards/pieces.ts";
import { ask, done, unexpected, type Outcome, type Step, type ToolProgram } from "../execution/program.ts";
import { agent, create, type ToolVariant } from "../wire.ts";
import { outputBuffer } from "./output.ts";
import { shellSpawnError, shellTold } from "./result.ts";

/** The exit code that shells give for a command which was interrupted. */
const INTERRUPTED = 130;
/** No exit code came. */
const UNKNOWN_EXIT = -1;

export interface ShellCall {
  readonly args: agent.ShellArgs;
  readonly terminalsFolder: string;
  variant(result?: agent.ShellResult): ToolVariant;
}

/**
 * A command in the foreground, as a stream (exec 14). Its end is `exit`, `backgrounded` or a refusal; a client may answer
 * with a plain `shell_result` instead. What follows the end is not asked for any more (wire section 5.3).
 */
export function shellProgram({ args, terminalsFolder, variant }: ShellCall): ToolProgram {
  let stdout = outputBuffer();
  let stderr = outputBuffer();
  /** Both, in the order in which they came. */
  let output = outputBuffer();
  /** Characters that the interface has been shown, and those of them that a client which began anew will say again. */
  const shown = { stdout: 0, stderr: 0 };
  let behind = { stdout: 0, stderr: 0 };
  let begun = false;
  let startedAtMs = 0;
  let sandboxPolicy: agent.SandboxPolicy | undefined;

  const { command, workingDirectory } = args;
  const collected = (atMs: number) => ({
    command,
    workingDirectory,
    stdout: stdout.text(),
    stderr: stderr.text(),
    executionTime: clampInt32(atMs - startedAtMs),
    ...(!stdout.empty && !stderr.empty && { interleavedOutput: output.text() }),
  });

  const finish = (result: agent.ShellResult): Outcome => {
    if (sandboxPolicy !== undefined) result.sandboxPolicy ??= sandboxPolicy;
    const told = shellTold(result);
    return { text: told?.text ?? "", isError: told?.isError ?? true, tool: variant(result) };
  };
  const refused = (error: string): Outcome => finish(shellSpawnError(command, workingDirectory, error));

  const failed = (why: string, atMs: number): Outcome => {
    if (output.empty) return { ...refused(why), text: why };
    const value = create(agent.ShellFailureSchema, { ...collected(atMs), exitCode: UNKNOWN_EXIT });
    const outcome = finish(create(agent.ShellResultSchema, { result: { case: "failure", value } }));
    return { ...outcome, text: `${why}\n\nOutput so far:\n${output.text()}` };
  };

  const exited = (exit: agent.ShellStreamExit, atMs: number): Outcome => {
    const time = exit.localExecutionTimeMs;
    const common = {
      ...collected(atMs),
      exitCode: exit.code | 0,
      ...(exit.cwd !== "" && { workingDirectory: exit.cwd }),
      ...(exit.outputLocation !== undefined && { outputLocation: exit.outputLocation }),
      ...(time !== undefined && { executionTime: time, localExecutionTimeMs: time }),
    };
    if (exit.code === 0 && !exit.aborted) {
      const value = create(agent.ShellSuccessSchema, common);
      return finish(create(agent.ShellResultSchema, { result: { case: "success", value } }));
    }
    const value = create(agent.ShellFailureSchema, {
      ...common,
      aborted: exit.aborted,
      ...(exit.abortReason !== undefined && { abortReason: exit.abortReason }),
    });
    return finish(create(agent.ShellResultSchema, { result: { case: "failure", value } }));
  };

  const backgrounded = (event: agent.ShellStreamBackgrounded, atMs: number): Outcome => {
    const value = create(agent.ShellSuccessSchema, {
      ...collected(atMs),
      shellId: event.shellId,
      ...(event.pid !== undefined && { pid: event.pid }),
      ...(event.msToWait !== undefined && { msToWait: event.msToWait }),
      ...(event.reason !== undefined && { backgroundReason: event.reason }),
    });
    return finish(
      create(agent.ShellResultSchema, {
        result: { case: "success", value },
        isBackground: true,
        ...(terminalsFolder !== "" && { terminalsFolder }),
        ...(event.pid !== undefined && { pid: event.pid }),
      }),
    );
  };

  const printed = (stream: "stdout" | "stderr", data: string): Step => {
    const text = data.toWellFormed();
    (stream === "stdout" ? stdout : stderr).push(text);
    output.push(text);
    const known = Math.min(behind[stream], text.length);
    behind = { ...behind, [stream]: behind[stream] - known };
    shown[stream] += text.length - known;
    const deltas = pieces(text.slice(known)).map((content) => {
      const delta =
        stream === "stdout"
          ? { case: stream, value: create(agent.ShellToolCallStdoutDeltaSchema, { content }) }
          : { case: stream, value: create(agent.ShellToolCallStderrDeltaSchema, { content }) };
      const value = create(agent.ShellToolCallDeltaSchema, { delta });
      return { case: "shellToolCallDelta", value } as const;
    });
    return { kind: "stay", deltas };
  };

  const onEvent = ({ event }: agent.ShellStream, atMs: number): Step => {
    switch (event.case) {
      case "start":
        // asked again on a new stream, a client tells the whole output from its beginning
        if (begun) {
          [stdout, stderr, output] = [outputBuffer(), outputBuffer(), outputBuffer()];
          behind = { ...shown };
        }
        begun = true;
        sandboxPolicy = event.value.sandboxPolicy;
        return { kind: "stay" };
      case "stdout":
      case "stderr":
        return printed(event.case, event.value.data);
      case "hookContext":
        return { kind: "stay", hooks: event.value.hookAdditionalContexts };
      case "exit":
        return done(exited(event.value, atMs));
      case "backgrounded":
        return done(backgrounded(event.value, atMs));
      case "rejected":
      case "permissionDenied":
        return done(finish(create(agent.ShellResultSchema, { result: event })));
      case "sandboxUnsupported":
        return done(refused(`the client cannot run it in a sandbox (${event.value.reason || "not supported"})`));
      // an event that a newer client has
      case undefined:
        return { kind: "stay" };
    }
  };

  return {
    card: variant(),
    start(atMs) {
      startedAtMs = atMs;
      return ask({ key: "shell", args: { case: "shellStreamArgs", value: args } });
    },
    answer(_key, answer, atMs) {
      if (answer.case === "shellStream") return onEvent(answer.value, atMs);
      if (answer.case === "shellResult" && shellTold(answer.value) !== undefined) return done(finish(answer.value));
      return done(failed(unexpected(answer), atMs));
    },
    failed: (_key, why, atMs) => done(failed(why, atMs)),
    reissue: (open) => open,
    interrupted(reason: InterruptReason, text, atMs) {
      if (reason === "failed" && output.empty) return { ...refused(text), text };
      const value = create(agent.ShellFailureSchema, {
        ...collected(atMs),
        exitCode: INTERRUPTED,
        aborted: true,
        abortReason: reason === "deadline" ? agent.ShellAbortReason.TIMEOUT : agent.ShellAbortReason.USER_ABORT,
      });
      const tool = variant(create(agent.ShellResultSchema, { result: { case: "failure", value } }));
      return { text: output.empty ? text : `${text}\n\nOutput so far:\n${output.text()}`, isError: true, tool };
    },
  };
}

function clampInt32(value: number): number {
  return Math.min(Math.max(0, Math.trunc(value)), 0x7fffffff);
}
