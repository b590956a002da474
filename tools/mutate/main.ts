import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { copyWorkspace } from "./copy.ts";
import { withDatabase } from "./database.ts";
import { type Mutant, mutate } from "./mutant.ts";
import { judge, type Verdict } from "./report.ts";
import { type SuiteName, suites } from "./suites.ts";
import { EXPLAINED } from "./survivors.ts";
import { allMutants } from "./targets.ts";
import { runSuite } from "./trial.ts";

const HELP = `usage: npm run mutate -- [--only PATTERN] [--list] [--jobs N]

Puts one fault after the other into a copy of the sources and runs the tests that should notice.
  --only PATTERN   mutants whose id matches the regular expression, and nothing about the others
  --list           print the ids and stop
  --jobs N         mutants at a time (default 2)`;

const root = path.resolve(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    list: { type: "boolean", default: false },
    jobs: { type: "string", default: "2" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const only = values.only === undefined ? undefined : new RegExp(values.only, "u");
const made = allMutants(root);
const chosen = made.filter(({ id }) => only?.test(id) ?? true);
if (values.list) for (const { id } of chosen) console.log(id);
else process.exitCode = await check(chosen, Math.max(1, Number(values.jobs) || 1));

/** Tries the mutants and reports; the exit code. */
async function check(mutants: readonly Mutant[], jobs: number): Promise<number> {
  // whoever works on the machine comes first
  os.setPriority(10);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  const names = [...new Set(mutants.flatMap((mutant) => mutant.suites))];
  const database = names.some((name) => suites[name].database === true);
  return withDatabase(database, async (url) => {
    const clean = copyWorkspace(root);
    const copies = Array.from({ length: Math.min(jobs, mutants.length) }, () => copyWorkspace(root));
    try {
      const limits = baseline(clean, url, stop.signal);
      const queue = mutants.entries();
      const lanes = copies.map(async (copy) => {
        try {
          return await work(queue, mutants.length, { copy, url, limits, stop: stop.signal });
        } catch (error) {
          // the other lanes end before their copies go
          stop.abort();
          throw error;
        }
      });
      await Promise.allSettled(lanes);
      const verdicts = await Promise.all(lanes);
      return judge(made, verdicts.flat(), EXPLAINED, only === undefined && !stop.signal.aborted);
    } finally {
      for (const copy of [clean, ...copies]) copy.remove();
    }
  });
}

type Copy = ReturnType<typeof copyWorkspace>;
/** How long a suite may take with a fault, in ms. */
type Limits = (name: SuiteName) => Promise<number>;

/** Runs each suite without a fault before it is used: it must pass. */
function baseline(clean: Copy, url: string | undefined, stop: AbortSignal): Limits {
  const limits = new Map<SuiteName, Promise<number>>();
  const measure = async (name: SuiteName): Promise<number> => {
    const { passed, failed, seconds } = await runSuite(clean, name, url, 10 * 60_000, stop);
    if (!passed && !stop.aborted) throw new Error(`without a fault "${name}" fails: ${failed}`);
    console.log(`without a fault: ${name} passes in ${seconds.toFixed(1)} s`);
    return Math.max(60_000, 6_000 * seconds);
  };
  return (name) => {
    const limit = limits.get(name) ?? measure(name);
    limits.set(name, limit);
    return limit;
  };
}

interface Place {
  readonly copy: Copy;
  readonly url: string | undefined;
  readonly limits: Limits;
  readonly stop: AbortSignal;
}

/** Takes mutants until there are none, or until it is stopped. */
async function work(
  queue: IterableIterator<[number, Mutant]>,
  count: number,
  { copy, url, limits, stop }: Place,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [at, mutant] of queue) {
    const faulty = mutate(mutant, copy.read);
    const right = new Map([...faulty.keys()].map((file) => [file, copy.read(file)]));
    for (const [file, text] of faulty) copy.write(file, text);
    let by: string | undefined;
    let seconds = 0;
    for (const name of mutant.suites) {
      const run = await runSuite(copy, name, url, await limits(name), stop);
      seconds += run.seconds;
      if (run.passed) continue;
      by = run.failed;
      break;
    }
    for (const [file, text] of right) copy.write(file, text);
    if (stop.aborted) break;
    verdicts.push({ id: mutant.id, killed: by !== undefined });
    const [verdict, end] = by === undefined ? ["SURVIVED", ""] : ["killed", `\n    by ${by}`];
    console.log(`[${at + 1}/${count}] ${verdict} ${mutant.id} (${seconds.toFixed(1)} s)${end}`);
  }
  return verdicts;
}
