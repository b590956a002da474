import { because } from "../text/because.ts";
import { agent, create } from "../wire.ts";

/** What a `ShellResult` says to the model; `undefined`: it says nothing that is known. */
export interface ShellTold {
  readonly text: string;
  readonly isError: boolean;
}

export function shellTold({ result, isBackground, terminalsFolder }: agent.ShellResult): ShellTold | undefined {
  switch (result.case) {
    case "success": {
      const { value } = result;
      if (isBackground === true || value.shellId !== undefined)
        return { text: background(value, terminalsFolder), isError: false };
      return { text: ended(value.exitCode, value), isError: false };
    }
    case "failure": {
      const { value } = result;
      const isTimeout = value.abortReason === agent.ShellAbortReason.TIMEOUT;
      const note = value.aborted ? `The command was stopped${isTimeout ? " at its time limit" : " by the user"}.` : "";
      return { text: ended(value.exitCode, value, note), isError: true };
    }
    case "timeout":
      return { text: `The command was stopped after ${result.value.timeoutMs} ms.`, isError: true };
    case "rejected":
      return { text: `The command was rejected and did not run${because(result.value.reason)}`, isError: true };
    case "spawnError":
      return { text: `The command could not be started${because(result.value.error)}`, isError: true };
    case "permissionDenied":
      return { text: `Permission denied; the command did not run${because(result.value.error)}`, isError: true };
    case undefined:
      return undefined;
  }
}

interface Ended {
  readonly workingDirectory: string;
  readonly signal: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly executionTime: number;
  readonly outputLocation?: agent.OutputLocation | undefined;
  readonly interleavedOutput?: string | undefined;
  readonly outputHead?: string | undefined;
  readonly outputTail?: string | undefined;
  readonly elidedChars?: number | undefined;
}

function ended(exitCode: number, value: Ended, note = ""): string {
  const { outputLocation, signal, executionTime, workingDirectory } = value;
  const facts = [
    `Exit code: ${exitCode}${signal === "" ? "" : ` (${signal})`}`,
    ...(executionTime > 0 ? [`Duration: ${executionTime} ms`] : []),
    ...(workingDirectory === "" ? [] : [`Working directory: ${workingDirectory}`]),
    ...(outputLocation === undefined
      ? []
      : [
          `Full output: ${outputLocation.filePath} (${outputLocation.sizeBytes} bytes, ${outputLocation.lineCount} lines)`,
        ]),
    ...(note === "" ? [] : [note]),
  ];
  return `${facts.join("\n")}\n\n${outputOf(value) || "(no output)"}`;
}

/** In the order in which it was written where that is known; else standard output before standard error. */
function outputOf(value: Ended): string {
  if (value.outputHead !== undefined && (value.elidedChars ?? 0) > 0)
    return `${value.outputHead}\n[… ${value.elidedChars} characters left out …]\n${value.outputTail ?? ""}`;
  if (value.interleavedOutput !== undefined && value.interleavedOutput !== "") return value.interleavedOutput;
  const gap = value.stdout === "" || value.stderr === "" || value.stdout.endsWith("\n") ? "" : "\n";
  return `${value.stdout}${gap}${value.stderr}`;
}

function background(value: agent.ShellSuccess, terminalsFolder: string | undefined): string {
  const pid = value.pid === undefined ? "" : `, pid ${value.pid}`;
  const waited = value.msToWait === undefined ? "" : ` after ${value.msToWait} ms`;
  const byUser =
    value.backgroundReason === agent.ShellBackgroundReason.USER_REQUEST ? " because the user asked for it" : "";
  const where =
    terminalsFolder === undefined || terminalsFolder === ""
      ? ""
      : ` Its output goes on in a file in ${terminalsFolder}.`;
  return `The command still runs. It went to the background${waited}${byUser} (shell ${value.shellId ?? 0}${pid}).${where} You are told when it ends.\n\nOutput so far:\n${outputOf(value) || "(none)"}`;
}

/** A command of which only a text is known. */
export function shellToldResult(command: string, workingDirectory: string, stdout: string): agent.ShellResult {
  const value = create(agent.ShellSuccessSchema, { command, workingDirectory, stdout });
  return create(agent.ShellResultSchema, { result: { case: "success", value } });
}

/** A command that did not run. */
export function shellSpawnError(command: string, workingDirectory: string, error: string): agent.ShellResult {
  const value = create(agent.ShellSpawnErrorSchema, { command, workingDirectory, error });
  return create(agent.ShellResultSchema, { result: { case: "spawnError", value } });
}
