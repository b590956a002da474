import { actors } from "./actors/main.ts";
import { history } from "./history/main.ts";
import { relay } from "./relay/main.ts";

const BENCHES: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = { actors, history, relay };

const HELP = `usage: npm run bench -- BENCH [options]

  actors   conversations as actors: memory, activation, a turn's lifecycle, turns per second
  history  a turn in conversations of 10 to 10,000 messages, and their checkpoints
  relay    what the server adds to a stream of model output, against a raw pipe (--help tells its options)
`;

const [name = "", ...args] = process.argv.slice(2);
const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
if (bench === undefined) {
  process.stdout.write(HELP);
  process.exitCode = name === "" || name === "--help" || name === "help" ? 0 : 2;
} else process.exitCode = await bench(args);
