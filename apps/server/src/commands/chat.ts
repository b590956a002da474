import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { defineCommand } from "citty";

const client = fileURLToPath(new URL("../../../client/src/main.ts", import.meta.url));

/** One program for people: its client side is the other app, in a process of its own. */
export const chatCommand = defineCommand({
  meta: { name: "chat", description: "The terminal client (npm run chat)" },
  run: ({ rawArgs }) =>
    new Promise<void>((resolve, reject) => {
      const child = spawn(process.execPath, [...process.execArgv, client, "chat", ...rawArgs], { stdio: "inherit" });
      // the terminal sends Ctrl-C to both; the child decides
      process.on("SIGINT", () => undefined);
      child.once("error", reject);
      child.once("exit", (code, signal) => {
        process.exitCode = code ?? (signal === null ? 1 : 130);
        resolve();
      });
    }),
});
