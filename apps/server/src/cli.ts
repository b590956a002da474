import { stripVTControlCharacters } from "node:util";
import { type CommandDef, defineCommand, renderUsage, runCommand } from "citty";
import { exitCodeOf, exitCodes, messageOf } from "./failure.ts";

/** Loaded when they are asked for: looking at a conversation does not load the server. */
const commands = {
  start: async () => (await import("./commands/start.ts")).startCommand,
  migrate: async () => (await import("./commands/migrate.ts")).migrateCommand,
  models: async () => (await import("./commands/models.ts")).modelsCommand,
  show: async () => (await import("./commands/show.ts")).showCommand,
  replay: async () => (await import("./commands/replay.ts")).replayCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  schema: async () => (await import("./commands/schema.ts")).schemaCommand,
  chat: async () => (await import("./commands/chat.ts")).chatCommand,
};

const program = defineCommand({
  meta: {
    name: "chartroom",
    description: "A team-shared server for the agent clients of Cursor, with the team's own model keys",
  },
  subCommands: commands,
});

const HELP = new Set(["--help", "-h", "help"]);

/** Runs the command-line program and sets the exit code. A command that keeps working (`start`) keeps the process alive. */
export async function runCli(args: readonly string[]): Promise<void> {
  const [word = "--help", ...rest] = args;
  if (HELP.has(word)) return help(process.stdout, program);
  if (!Object.hasOwn(commands, word)) {
    await help(process.stderr, program);
    process.stderr.write(`There is no command ${JSON.stringify(word)}.\n`);
    process.exitCode = exitCodes.usage;
    return;
  }
  const name = word as keyof typeof commands;
  const command = (await commands[name]()) as CommandDef;
  // the client tells its own options
  if (name !== "chat" && (rest.includes("--help") || rest.includes("-h")))
    return help(process.stdout, command, program);
  try {
    await runCommand(command, { rawArgs: rest });
  } catch (error) {
    if (error instanceof Error && error.name === "CLIError") {
      await help(process.stderr, command, program);
      process.stderr.write(`${stripVTControlCharacters(error.message)}\n`);
      process.exitCode = exitCodes.usage;
    } else {
      process.stderr.write(`${messageOf(error)}\n`);
      process.exitCode = exitCodeOf(error);
    }
  }
}

async function help(to: NodeJS.WriteStream, command: CommandDef, parent?: CommandDef): Promise<void> {
  const usage = await renderUsage(command, parent);
  to.write(`${to.isTTY ? usage : stripVTControlCharacters(usage)}\n\n`);
}
