import fs from "node:fs";

/** What one process has used so far. */
export interface ProcessUse {
  /** CPU time of its living threads, in nanoseconds. */
  readonly cpuNs: number;
  /** Resident memory, in bytes. */
  readonly rss: number;
}

/** CPU and memory of processes, read from /proc (Linux alone). */
export function useOf(pid: number): ProcessUse {
  let cpuNs = 0;
  for (const thread of list(`/proc/${pid}/task`)) {
    cpuNs += Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0] ?? 0);
  }
  const rss = Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
  return { cpuNs, rss };
}

/** All processes that descend from one, itself not included. */
export function descendants(pid: number): readonly number[] {
  const found: number[] = [];
  const todo = [pid];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    for (const thread of list(`/proc/${next}/task`)) {
      const children = read(`/proc/${next}/task/${thread}/children`).trim().split(/\s+/).filter(Boolean).map(Number);
      found.push(...children);
      todo.push(...children);
    }
  }
  return found;
}

/** CPU nanoseconds of several processes together. */
export function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + useOf(pid).cpuNs, 0);
}

/** CPU nanoseconds that the whole machine was busy (in steps of 10 ms). */
export function machineBusyNs(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = read("/proc/stat")
    .split("\n")[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) * 1e7;
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    // the process has ended
    return "";
  }
}

function list(folder: string): readonly string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
