import { create } from "@bufbuild/protobuf";
import {
  BackgroundShellSpawnResultSchema,
  ForceBackgroundShellResultSchema,
  ForceBackgroundShellStatus,
  WriteShellStdinResultSchema,
} from "@chartroom/protocols/agent";
import type { ExecHandler, ResultInit } from "./exec.ts";

const THRESHOLD_BYTES = 40_000;

/** `background_shell_spawn_args`: a command that starts in the background; its output goes to a file. */
export const spawnBackground: ExecHandler<"backgroundShellSpawnArgs"> = async ({ args, toolCallId, signal }, ports) => {
  const about = { command: args.command, workingDirectory: args.workingDirectory };
  const refuse = (reason: string) => reply({ case: "rejected", value: { ...about, reason } });
  const located = await ports.folder.locate(args.workingDirectory);
  if (!located.ok) return refuse(`working directory: ${located.reason}`);
  if (!located.inside) return refuse("working directory: it is not in the folder");
  const verdict = await ports.consent.approve(
    {
      kind: "command",
      command: args.command,
      cwd: located.relative,
      description: args.description ?? "",
      background: true,
    },
    signal,
  );
  if (!verdict.allowed) return refuse(verdict.reason);
  const outcome = await ports.shells.run(
    {
      command: args.command,
      cwd: located.real,
      timeoutMs: 0,
      onTimeout: "background",
      hardTimeoutMs: 0,
      thresholdBytes: THRESHOLD_BYTES,
      stdin: args.enableWriteShellStdinTool,
      background: true,
      toolCallId,
      title: args.description ?? args.command,
    },
    signal,
    () => undefined,
  );
  if (outcome.kind === "background") {
    const { id, pid } = outcome.shell;
    return reply({ case: "success", value: { ...about, shellId: id, pid } });
  }
  const error = outcome.kind === "spawnError" ? outcome.error : `it ended at once with code ${outcome.code}`;
  return reply({ case: "error", value: { ...about, error } });

  function reply(result: SpawnResult) {
    const value = create(BackgroundShellSpawnResultSchema, { result });
    return { case: "backgroundShellSpawnResult", value } as const;
  }
};

/** `write_shell_stdin_args`: types into a command in the background. */
export const writeStdin: ExecHandler<"writeShellStdinArgs"> = ({ args }, { shells }) => {
  const typed = shells.type(args.shellId, args.chars);
  const value = typed.ok
    ? create(WriteShellStdinResultSchema, {
        result: {
          case: "success",
          value: { shellId: args.shellId, terminalFileLengthBeforeInputWritten: typed.before },
        },
      })
    : create(WriteShellStdinResultSchema, {
        result: { case: "error", value: { error: `no shell ${args.shellId} takes input` } },
      });
  return Promise.resolve({ case: "writeShellStdinResult", value });
};

/** `force_background_shell_args`: moves a running foreground command to the background. */
export const forceBackground: ExecHandler<"forceBackgroundShellArgs"> = ({ args }, { shells }) => {
  const { ACCEPTED, NOT_FOUND } = ForceBackgroundShellStatus;
  const status = shells.toBackground(args.toolCallId) ? ACCEPTED : NOT_FOUND;
  return Promise.resolve({
    case: "forceBackgroundShellResult",
    value: create(ForceBackgroundShellResultSchema, { status }),
  });
};

type SpawnResult = ResultInit<typeof BackgroundShellSpawnResultSchema>;
