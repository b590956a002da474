import { defineCommand } from "citty";
import { banner } from "../banner.ts";
import { startServer } from "../compose.ts";
import { configArgs, configOf } from "./shared.ts";

export const startCommand = defineCommand({
  meta: { name: "start", description: "Start the server" },
  args: configArgs,
  async run({ args }) {
    const config = configOf(args);
    const server = await startServer(config);
    process.stdout.write(
      `${banner(config, server, config.databaseUrl === undefined ? config.dataFolder : "the configured database")}\n`,
    );
    let stopping: Promise<void> | undefined;
    const stop = (signal: NodeJS.Signals): void => {
      // the second time the user means it
      if (stopping) process.exit(130);
      process.stderr.write(`${signal}: letting open Runs end (at most ${Math.round(config.drainMs / 1000)} s)\n`);
      stopping = server.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`could not stop in order: ${error instanceof Error ? error.message : "unknown"}\n`);
          process.exit(1);
        },
      );
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
  },
});
