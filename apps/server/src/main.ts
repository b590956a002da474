import module from "node:module";

// before anything else is loaded: compiled code is kept, which halves the time of the next start
module.enableCompileCache();
const { runCli } = await import("./cli.ts");
await runCli(process.argv.slice(2));
