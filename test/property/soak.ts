import { parseArgs } from "node:util";
import * as fc from "fast-check";
import { Coverage } from "./lifecycle/coverage.ts";
import { kindOf, report, type Runner } from "./lifecycle/report.ts";
import { runSchedule } from "./lifecycle/run-schedule.ts";
import { schedule, type Step } from "./lifecycle/schedule.ts";
import { soakDatabase } from "./wire/soak-database.ts";

const HELP = `usage: npm run soak -- [--minutes N] [--events N] [--seed N] [--wire]

  Random schedules of the lifecycle, each with a seed of its own that is printed with what it finds. A fault is shown once per
  kind, with the shortest list of events; the exit code is 1 if there was any.

  --minutes N  how long (10)
  --events N   events of a schedule at least (40)
  --seed N     the first seed; the next ones follow it
  --wire       on a server behind sockets with a Postgres of its own, over both transports in turn, odd seeds over HTTP/2`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    events: { type: "string", default: "40" },
    seed: { type: "string" },
    wire: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const until = performance.now() + Number(values.minutes) * 60_000;
const least = Number(values.events);
let seed = Number(values.seed ?? Date.now() % 2 ** 31);

const database = values.wire ? await soakDatabase() : undefined;
const runnerOf = (at: number): Runner => database?.runner(at % 2 === 1 ? "run" : "sse") ?? runSchedule;

interface Found {
  count: number;
  readonly seed: number;
  readonly steps: readonly Step[];
  readonly fault: string;
}

const coverage = new Coverage();
const found = new Map<string, Found>();
let told = performance.now();
// what nobody waits for must not throw: a process would end of it
let escaped: string | undefined;
process.on("unhandledRejection", (reason) => {
  escaped ??= `nobody waits for what failed: ${reason instanceof Error ? `${reason.message} ${reason.stack?.split("\n")[3] ?? ""}` : String(reason)}`;
});
while (performance.now() < until) {
  const [steps = []] = fc.sample(schedule(least), { numRuns: 1, seed });
  try {
    escaped = undefined;
    await runnerOf(seed)(steps, coverage);
    if (escaped !== undefined) throw new Error(escaped);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    const known = found.get(kindOf(fault));
    if (known) known.count++;
    else {
      found.set(kindOf(fault), { count: 1, seed, steps, fault });
      console.log(`seed ${seed}: ${fault}`);
    }
  }
  if (performance.now() - told > 60_000) {
    told = performance.now();
    console.log(`${coverage.schedules} schedules, ${coverage.events} events, ${found.size} kinds of faults`);
  }
  seed = (seed + 1) % 2 ** 31;
}
console.log(`${coverage.schedules} schedules, ${coverage.events} events, next seed ${seed}`);
const rare = coverage.below(20);
if (rare.length > 0 && !values.wire) console.log(`cells met less than 20 times:\n  ${rare.join("\n  ")}`);
for (const [event, count] of coverage.unhandled) console.log(`unhandled ${count} times: ${event}`);
for (const { count, seed: at, steps, fault } of found.values())
  console.log(`\n${count} times, first with seed ${at}: ${await report(steps, fault, runnerOf(at))}`);
await database?.stop();
process.exitCode = found.size > 0 ? 1 : 0;
