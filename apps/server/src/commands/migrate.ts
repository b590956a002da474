import { defineCommand } from "citty";
import { openDatabase } from "../compose.ts";
import { configArgs, configOf } from "./shared.ts";

export const migrateCommand = defineCommand({
  meta: { name: "migrate", description: "Bring the database's schema up to date, then end" },
  args: configArgs,
  async run({ args }) {
    const database = await openDatabase(configOf(args));
    await database.stop();
    process.stdout.write(`schema is up to date in ${database.where}\n`);
  },
});
