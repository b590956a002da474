import { create } from "@bufbuild/protobuf";
import {
  type ShellArgs,
  ShellAbortReason,
  ShellBackgroundReason,
  type ShellResult,
  ShellResultSchema,
  ShellStreamSchema,
  TimeoutBehavior,
} from "@chartroom/protocols/agent";
import type { ShellOutcome, ShellReport } from "../shells/shells.ts";
import type { ExecCall, ExecHandler, ExecPorts, ExecReply, ResultInit } from "./exec.ts";

/** Used where the request has no threshold (wire section 5.3). */
const THRESHOLD_BYTES = 40_000;
const MAX_THRESHOLD_BYTES = 1024 * 1024;
/** Output beyond this is not sent piece by piece; it is in the output file. */
const MAX_STREAMED_CHARS = 1024 * 1024;

/** `shell_args`: a command with one result at its end. */
export const shell: ExecHandler<"shellArgs"> = async (call, ports) => ({
  case: "shellResult",
  value: await runShell(call.args, call, ports, () => undefined),
});

/** `mini_swe_agent_bash_args`: the same under another number. */
export const miniBash: ExecHandler<"miniSweAgentBashArgs"> = async (call, ports) => ({
  case: "miniSweAgentBashResult",
  value: await runShell(call.args, call, ports, () => undefined),
});

/**
 * `shell_stream_args`: start, output while it comes, exit; then the whole result under the same id, which some servers
 * wait for (wire section 5.3). A command that is refused or goes to the background ends the stream with that event.
 */
export const shellStream: ExecHandler<"shellStreamArgs"> = async (call, ports) => {
  let streamed = 0;
  const result = await runShell(call.args, call, ports, (event) => {
    if (event.kind === "text") {
      streamed += event.text.length;
      if (streamed > MAX_STREAMED_CHARS) return;
      call.send(streamEvent({ case: event.channel, value: { data: event.text } }));
    } else {
      call.send(streamEvent({ case: "start", value: {} }));
    }
  });
  for (const event of lastEvents(result)) call.send(event);
  return { case: "shellResult", value: result };
};

type ShellEvent =
  | { readonly kind: "start" }
  | { readonly kind: "text"; readonly channel: "stdout" | "stderr"; readonly text: string };

async function runShell(
  args: ShellArgs,
  { signal, toolCallId }: Pick<ExecCall<"shellArgs">, "signal" | "toolCallId">,
  { folder, consent, shells }: ExecPorts,
  onEvent: (event: ShellEvent) => void,
): Promise<ShellResult> {
  const about = { command: args.command, workingDirectory: args.workingDirectory };
  const refuse = (reason: string) => result({ case: "rejected", value: { ...about, reason } });
  const located = await folder.locate(args.workingDirectory);
  if (!located.ok) return refuse(`working directory: ${located.reason}`);
  if (!located.inside) return refuse("working directory: it is not in the folder");
  const verdict = await consent.approve(
    {
      kind: "command",
      command: args.command,
      cwd: located.relative,
      description: args.description ?? "",
      background: args.isBackground,
    },
    signal,
  );
  if (!verdict.allowed) return refuse(verdict.reason);
  onEvent({ kind: "start" });
  const outcome = await shells.run(
    {
      command: args.command,
      cwd: located.real,
      timeoutMs: Math.max(0, args.timeout),
      onTimeout: args.timeoutBehavior === TimeoutBehavior.BACKGROUND ? "background" : "stop",
      hardTimeoutMs: Math.max(0, args.hardTimeout ?? 0),
      thresholdBytes: threshold(args),
      stdin: false,
      background: args.isBackground,
      toolCallId,
      title: args.description ?? args.command,
    },
    signal,
    (channel, text) => onEvent({ kind: "text", channel, text }),
  );
  return shellResult(outcome, args.command, located.real, args.timeout);
}

function threshold(args: ShellArgs): number {
  const wanted = Number(args.fileOutputThresholdBytes ?? 0n);
  return wanted > 0 ? Math.min(wanted, MAX_THRESHOLD_BYTES) : THRESHOLD_BYTES;
}

function shellResult(outcome: ShellOutcome, command: string, workingDirectory: string, timeoutMs: number): ShellResult {
  const about = { command, workingDirectory };
  switch (outcome.kind) {
    case "spawnError":
      return result({ case: "spawnError", value: { ...about, error: outcome.error } });
    case "background": {
      const { id, pid, file } = outcome.shell;
      const reason = outcome.why === "timeout" ? ShellBackgroundReason.TIMEOUT : ShellBackgroundReason.USER_REQUEST;
      const success = { ...about, shellId: id, pid, msToWait: timeoutMs, backgroundReason: reason };
      return create(ShellResultSchema, {
        result: { case: "success", value: success },
        isBackground: true,
        terminalsFolder: file.slice(0, Math.max(0, file.lastIndexOf("/"))),
        pid,
      });
    }
    case "aborted":
      return result({
        case: "failure",
        value: {
          ...about,
          ...reported(outcome),
          exitCode: outcome.code,
          aborted: true,
          abortReason: outcome.why === "user" ? ShellAbortReason.USER_ABORT : ShellAbortReason.TIMEOUT,
        },
      });
    case "exit": {
      const value = { ...about, ...reported(outcome), exitCode: outcome.code, signal: outcome.signal };
      return outcome.code === 0 ? result({ case: "success", value }) : result({ case: "failure", value });
    }
  }
}

function reported({ stdout, stderr, location, durationMs }: ShellReport) {
  const cut = stdout.elidedChars > 0;
  return {
    stdout: stdout.text,
    stderr: stderr.text,
    executionTime: durationMs,
    localExecutionTimeMs: durationMs,
    ...(cut ? { outputHead: stdout.head, outputTail: stdout.tail, elidedChars: stdout.elidedChars } : {}),
    ...(location === undefined
      ? {}
      : {
          outputLocation: {
            filePath: location.path,
            sizeBytes: BigInt(location.sizeBytes),
            lineCount: BigInt(location.lineCount),
          },
        }),
  };
}

/** What a stream ends with, told from the result. */
function lastEvents(value: ShellResult): ExecReply[] {
  const { result: last } = value;
  switch (last.case) {
    case "success":
      if (value.isBackground) {
        const { shellId = 0, command, workingDirectory, pid = 0, msToWait = 0, backgroundReason } = last.value;
        const reason = backgroundReason ?? ShellBackgroundReason.UNSPECIFIED;
        const backgrounded = { shellId, command, workingDirectory, pid, msToWait, reason };
        return [streamEvent({ case: "backgrounded", value: backgrounded })];
      }
      return [exitEvent(last.value, false)];
    case "failure":
      return [exitEvent(last.value, last.value.aborted, last.value.abortReason)];
    case "rejected":
    case "permissionDenied":
      return [streamEvent(last)];
    case "spawnError":
      return [
        streamEvent({ case: "stderr", value: { data: `${last.value.error}\n` } }),
        streamEvent({ case: "exit", value: { code: 127, cwd: last.value.workingDirectory } }),
      ];
    default:
      return [];
  }
}

interface Ended {
  readonly exitCode: number;
  readonly workingDirectory: string;
  readonly outputLocation?: { filePath: string; sizeBytes: bigint; lineCount: bigint } | undefined;
  readonly localExecutionTimeMs?: number | undefined;
}

function exitEvent(ended: Ended, aborted: boolean, abortReason?: ShellAbortReason): ExecReply {
  const { outputLocation, localExecutionTimeMs } = ended;
  return streamEvent({
    case: "exit",
    value: {
      // the wire's exit code has no sign
      code: ended.exitCode >>> 0,
      cwd: ended.workingDirectory,
      aborted,
      ...(outputLocation === undefined ? {} : { outputLocation }),
      ...(abortReason === undefined ? {} : { abortReason }),
      ...(localExecutionTimeMs === undefined ? {} : { localExecutionTimeMs }),
    },
  });
}

type StreamEvent = NonNullable<NonNullable<Parameters<typeof create<typeof ShellStreamSchema>>[1]>["event"]>;

function streamEvent(event: StreamEvent): ExecReply {
  return { case: "shellStream", value: create(ShellStreamSchema, { event }) };
}

type Result = ResultInit<typeof ShellResultSchema>;

function result(value: Result): ShellResult {
  return create(ShellResultSchema, { result: value });
}
