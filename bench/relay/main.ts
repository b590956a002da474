import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startChild, type Child } from "../lib/child.ts";
import { median } from "../lib/stats.ts";
import { httpRoad } from "./http-lane.ts";
import type { Road } from "./lane.ts";
import { first, load, open, type First, type Load } from "./phases.ts";
import { report, type Measured, type Results } from "./report.ts";
import { runRoad } from "./run-lane.ts";

const HELP = `usage: npm run bench -- relay [options]

Streams from a fake provider straight, through a raw pipe of Node, and through the server, in one run. Linux.

  --phases LIST   of paced,burst,first,open (all)
  --rounds N      rounds of paced, burst and first; the median counts (3)
  --seconds N     length of a measured phase (5)
  --streams N     streams of the open phase (1000)
  --no-server     the pipe alone
  --json          one line of JSON instead of the table

Exit code 0, whether the goals are met or not; 1 when something failed.
`;

const root = path.resolve(import.meta.dirname, "../..");
const CHUNKS = 500;
const MODELS = {
  paced: `bench-${CHUNKS}-20-5`,
  burst: `bench-${CHUNKS}-20-0`,
  first: "bench-5-20-0",
  open: "bench-100000-20-1000",
};

interface Settings {
  readonly phases: ReadonlySet<string>;
  readonly rounds: number;
  readonly ms: number;
  readonly streams: number;
  readonly withServer: boolean;
}

/** Runs the relay bench; gives the exit code. */
export async function relay(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      phases: { type: "string", default: "paced,burst,first,open" },
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "5" },
      streams: { type: "string", default: "1000" },
      "no-server": { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (process.platform !== "linux") {
    console.error("the relay bench reads /proc, which only Linux has");
    return 1;
  }
  const results = await measure({
    phases: new Set(values.phases.split(",")),
    rounds: Number(values.rounds),
    ms: Number(values.seconds) * 1000,
    streams: Number(values.streams),
    withServer: !values["no-server"],
  });
  if (values.json) console.log(JSON.stringify(results));
  else {
    const { lines, missed } = report(results);
    console.log(["", `Node ${process.version}, ${os.cpus().length} cores`, "", ...lines].join("\n").trimEnd());
    if (missed > 0) console.log(`${missed} ${missed === 1 ? "goal" : "goals"} missed`);
  }
  return 0;
}

async function measure(settings: Settings): Promise<Results> {
  const upstream = await startChild({ args: [here("upstream.ts")], ready: /listening on (\d+)/, timeoutMs: 10_000 });
  const upstreamPort = Number(upstream.found);
  try {
    return {
      direct: await road(settings, () => httpRoad("provider alone", upstreamPort), undefined, upstream),
      pipe: await road(
        settings,
        (found) => httpRoad("pipe", Number(found)),
        () => startPipe(upstream.found),
        upstream,
      ),
      server: settings.withServer
        ? await road(
            settings,
            (found) => runRoad("chartroom", found),
            () => startServer(upstream.found),
            upstream,
          )
        : {},
    };
  } finally {
    await upstream.stop();
  }
}

/** Measures one road; each phase that looks at memory gets a fresh process. */
async function road(
  settings: Settings,
  make: (found: string) => Road,
  start: (() => Promise<Child>) | undefined,
  upstream: Child,
): Promise<Measured> {
  const measured: { -readonly [K in keyof Measured]: Measured[K] } = {};
  if (settings.phases.has("open") && start) {
    const child = await start();
    try {
      say(`${make(child.found).name}: ${settings.streams} open streams`);
      measured.open = await open(make(child.found), { pid: child.pid }, MODELS.open, settings.streams);
    } finally {
      await child.stop();
    }
  }
  const child = await start?.();
  try {
    const through = make(child?.found ?? "");
    const subject = child && { pid: child.pid };
    const base = { chunks: CHUNKS, warmupMs: 2_000, ms: settings.ms, others: [upstream.pid] };
    const rounds: { paced: Load[]; burst: Load[]; first: First[] } = { paced: [], burst: [], first: [] };
    for (let round = 1; round <= settings.rounds; round++) {
      say(`${through.name}: round ${round} of ${settings.rounds}`);
      if (settings.phases.has("first")) rounds.first.push(await first(through, MODELS.first, 200));
      if (settings.phases.has("paced"))
        rounds.paced.push(await load(through, subject, { ...base, model: MODELS.paced, clients: 20 }));
      if (settings.phases.has("burst"))
        rounds.burst.push(await load(through, subject, { ...base, model: MODELS.burst, clients: 16 }));
    }
    if (rounds.first.length > 0) measured.first = middle(rounds.first, ({ p50 }) => p50);
    if (rounds.paced.length > 0) measured.paced = middle(rounds.paced, ({ cpuMs, latencyP50 }) => cpuMs || latencyP50);
    if (rounds.burst.length > 0) measured.burst = middle(rounds.burst, ({ cpuMs, rate }) => cpuMs || rate);
  } finally {
    await child?.stop();
  }
  return measured;
}

/** The round that is the median by a number. */
function middle<T>(rounds: readonly T[], by: (round: T) => number): T {
  const value = median(rounds.map(by));
  return rounds.find((round) => by(round) === value) ?? rounds[0]!;
}

function startPipe(upstreamPort: string): Promise<Child> {
  return startChild({
    args: [here("pipe.ts")],
    env: { UPSTREAM_PORT: upstreamPort },
    ready: /listening on (\d+)/,
    timeoutMs: 10_000,
  });
}

/** The server as it is shipped, with its own database in a folder of its own, and the fake provider as the only one. */
async function startServer(upstreamPort: string): Promise<Child> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-bench-"));
  const models = Object.values(MODELS).map((id) => ({ id, contextWindow: 128_000, maxOutputTokens: 8_192 }));
  const config = {
    listen: { port: 0 },
    providers: [
      { id: "bench", kind: "openai", baseUrl: `http://127.0.0.1:${upstreamPort}/v1`, apiKey: "env:BENCH_KEY", models },
    ],
    limits: { maxOpenRuns: 8_192, maxOpenRunsPerMember: 8_192 },
  };
  // JSON is YAML
  fs.writeFileSync(path.join(folder, "chartroom.yaml"), JSON.stringify(config, undefined, 1));
  const child = await startChild({
    args: [path.join(root, "apps/server/src/main.ts"), "start"],
    cwd: folder,
    env: { BENCH_KEY: "bench", CHARTROOM_DATA: path.join(folder, "data"), DATABASE_URL: "" },
    ready: /(http:\/\/127\.0\.0\.1:\d+)/,
    timeoutMs: 60_000,
  });
  return {
    ...child,
    stop: async () => {
      await child.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

function here(file: string): string {
  return path.join(import.meta.dirname, file);
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
