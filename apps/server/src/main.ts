import module from "node:module";

// before anything else is loaded: compiled code is kept, which halves the time of the next start
module.enableCompileCache();
const [{ runCli }, { exitCodes, messageOf }] = await Promise.all([import("./cli.ts"), import("./failure.ts")]);
process.on("unhandledRejection", (error) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(exitCodes.failed);
});
await runCli(process.argv.slice(2));
