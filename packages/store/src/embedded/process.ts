import { spawnSync } from "node:child_process";
import fs from "node:fs";

/**
 * What tells a process from another one that later gets the same number: its start, and the boot that it belongs to.
 * `undefined`: there is no such process, or it has ended and only waits to be collected.
 */
export function processIdentity(pid: number): string | undefined {
  return process.platform === "linux" ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // the name may hold blanks and brackets, so fields are counted behind its last bracket: state is the 3rd, start the 22nd
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    if (state === "Z" || state === "X") return undefined;
    return `${fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${fields[19]}`;
  } catch {
    return undefined;
  }
}

function fromPs(pid: number): string | undefined {
  const ps = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" });
  const line = ps.stdout?.trim();
  if (ps.status !== 0 || !line || line.startsWith("Z")) return undefined;
  return line.replace(/^\S+\s+/, "");
}

/** The command line of a process, its words joined by blanks; `undefined`: no such process, or not to be read. */
export function commandLine(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() || undefined;
    } catch {
      return undefined;
    }
  }
  const ps = spawnSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  return ps.status === 0 ? ps.stdout.trim() || undefined : undefined;
}
