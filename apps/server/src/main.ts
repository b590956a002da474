import { defineCommand, runMain } from "citty";
import { migrateCommand } from "./commands/migrate.ts";
import { modelsCommand } from "./commands/models.ts";
import { startCommand } from "./commands/start.ts";
import { ConfigError } from "./config/problem.ts";

const main = defineCommand({
  meta: {
    name: "chartroom",
    description: "A team-shared server for the agent clients of Cursor, with the team's own model keys",
  },
  subCommands: { start: startCommand, migrate: migrateCommand, models: modelsCommand },
});

process.on("unhandledRejection", (error) => fail(error));
await runMain(main);

function fail(error: unknown): never {
  if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
  else process.stderr.write(`chartroom: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
