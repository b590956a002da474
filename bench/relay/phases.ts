import { cpuOf, descendants, machineBusyNs, useOf } from "../lib/proc.ts";
import { nowUs, percentile, sleep } from "../lib/stats.ts";
import type { Road } from "./lane.ts";

/** A process under test: what it uses counts, and, apart from that, what its children (a database) use. */
export interface Subject {
  readonly pid: number;
}

export interface Load {
  /** CPU of the process, and of its children, in milliseconds per 1,000 chunks. */
  readonly cpuMs: number;
  readonly childrenCpuMs: number;
  /** Chunks per second in all. */
  readonly rate: number;
  /** Age of a chunk on arrival, in milliseconds. */
  readonly latencyP50: number;
  readonly latencyP99: number;
  readonly errors: number;
  readonly firstError: string | undefined;
  /** Cores that programs outside this bench used meanwhile: above some tenths the numbers are not worth much. */
  readonly otherCores: number;
}

/** A closed loop: so many clients, each with one stream after the other. Measured after a warm-up. */
export async function load(
  road: Road,
  subject: Subject | undefined,
  options: {
    readonly model: string;
    readonly chunks: number;
    readonly clients: number;
    readonly warmupMs: number;
    readonly ms: number;
    readonly others: readonly number[];
  },
): Promise<Load> {
  const state = { measuring: false, stopping: false };
  let chunks = 0;
  let errors = 0;
  let firstError: string | undefined;
  const ages: number[] = [];
  const client = async (): Promise<void> => {
    let lane = await road.lane();
    while (!state.stopping) {
      const streamed = await lane.stream(options.model, (latencyUs) => {
        if (!state.measuring) return;
        chunks++;
        ages.push(latencyUs / 1000);
      });
      if (state.stopping || (streamed.error === undefined && streamed.chunks === options.chunks)) continue;
      errors++;
      firstError ??= streamed.error ?? `${streamed.chunks} chunks instead of ${options.chunks}`;
      lane.close();
      await sleep(50);
      lane = await road.lane();
    }
    lane.close();
  };
  const clients = Array.from({ length: options.clients }, client);
  await sleep(options.warmupMs);
  const children = subject === undefined ? [] : descendants(subject.pid);
  const measured = subject === undefined ? [] : [subject.pid];
  const known = [process.pid, ...options.others, ...measured, ...children];
  const before = {
    own: cpuOf(measured),
    children: cpuOf(children),
    busy: machineBusyNs(),
    known: cpuOf(known),
    at: nowUs(),
  };
  state.measuring = true;
  await sleep(options.ms);
  state.measuring = false;
  const seconds = (nowUs() - before.at) / 1e6;
  const own = cpuOf(measured) - before.own;
  const childrenCpu = cpuOf(children) - before.children;
  const other = machineBusyNs() - before.busy - (cpuOf(known) - before.known);
  state.stopping = true;
  await Promise.race([Promise.all(clients), sleep(10_000)]);
  return {
    cpuMs: own / 1e3 / chunks,
    childrenCpuMs: childrenCpu / 1e3 / chunks,
    rate: chunks / seconds,
    latencyP50: percentile(ages, 50),
    latencyP99: percentile(ages, 99),
    errors,
    firstError,
    otherCores: Math.max(0, other / 1e9 / seconds),
  };
}

export interface First {
  /** From request to first chunk, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

/** Time to the first chunk, one stream at a time, so that nothing queues. */
export async function first(road: Road, model: string, streams: number): Promise<First> {
  const lane = await road.lane();
  const times: number[] = [];
  let errors = 0;
  const warmup = Math.ceil(streams / 5);
  for (let n = 0; n < streams + warmup; n++) {
    const streamed = await lane.stream(model);
    if (streamed.error !== undefined) errors++;
    else if (n >= warmup) times.push(streamed.firstUs / 1000);
    if (errors > 20) break;
  }
  lane.close();
  return { p50: percentile(times, 50), p99: percentile(times, 99), errors };
}

export interface Open {
  readonly live: number;
  /** What the process grew by, in megabytes. */
  readonly mb: number;
  readonly failed: number;
}

/** Memory of many streams that are open at once, one chunk a second each. The process should be fresh. */
export async function open(road: Road, subject: Subject, model: string, streams: number): Promise<Open> {
  // a first stream loads what is loaded once
  const warm = await road.lane();
  await warm.stream("bench-5-20-0");
  warm.close();
  await sleep(1_000);
  const before = useOf(subject.pid).rss;
  const lanes = await Promise.all(Array.from({ length: streams }, () => road.lane()));
  const seen = { live: 0, failed: 0 };
  for (const [index, lane] of lanes.entries()) {
    let begun = false;
    void lane
      .stream(model, () => {
        if (!begun) seen.live++;
        begun = true;
      })
      .then(() => (begun ? undefined : seen.failed++));
    if (index % 20 === 19) await sleep(50);
  }
  const end = Date.now() + 60_000;
  while (seen.live + seen.failed < streams && Date.now() < end) await sleep(100);
  await sleep(5_000);
  const mb = (useOf(subject.pid).rss - before) / 1_048_576;
  for (const lane of lanes) lane.close();
  return { ...seen, mb };
}
