import { defineCommand } from "citty";
import { openDatabase } from "../database.ts";
import { configArgs, configOf, print, refuseUnknown } from "./shared.ts";

export const migrateCommand = defineCommand({
  meta: { name: "migrate", description: "Bring the database's schema up to date, then end" },
  args: configArgs,
  async run({ args }) {
    refuseUnknown(args, configArgs);
    const database = await openDatabase(configOf(args));
    await database.stop();
    print(`The schema is up to date in ${database.where}.`);
  },
});
