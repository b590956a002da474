import { defineCommand } from "citty";
import { banner } from "../banner.ts";
import { startServer } from "../compose.ts";
import { exitCodes, messageOf } from "../failure.ts";
import { reload } from "../reload.ts";
import { StopSignals } from "../stop-signals.ts";
import { configArgs, configOf, print, refuseUnknown } from "./shared.ts";

export const startCommand = defineCommand({
  meta: { name: "start", description: "Start the server" },
  args: configArgs,
  async run({ args }) {
    refuseUnknown(args, configArgs);
    const config = configOf(args);
    const signals = new StopSignals();
    const server = await startServer(config);
    if (!signals.asked) print(banner(config, server));
    process.on("SIGHUP", () => reload(server, () => configOf(args)));
    signals.onStop((signal) => {
      // the terminal has written ^C
      const lead = process.stderr.isTTY ? "\n" : "";
      process.stderr.write(
        `${lead}${signal}: stopping; open Runs get at most ${Math.round(config.drainMs / 1000)} s\n`,
      );
      server.stop().then(
        () => process.exit(exitCodes.ok),
        (error: unknown) => {
          process.stderr.write(`${messageOf(error)}\n`);
          process.exit(exitCodes.failed);
        },
      );
    });
  },
});
