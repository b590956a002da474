import fs from "node:fs";
import path from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { compilePattern } from "./pattern.ts";
import { type Line, searchText } from "./search-text.ts";

/** What one search is to do; crosses to a thread of its own, so that no pattern can hold up the client. */
export interface SearchJob {
  readonly root: string;
  /** Relative to `root`, with `/`. */
  readonly files: readonly string[];
  /** Empty: every file is a hit and none is read. */
  readonly pattern: string;
  readonly caseInsensitive: boolean;
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
  /** Whether the lines are wanted, or only their count. */
  readonly withLines: boolean;
  readonly withTimes: boolean;
  /** After these milliseconds the search stops with what it has. */
  readonly budgetMs: number;
}

export interface FileHits {
  readonly file: string;
  readonly matched: number;
  readonly lines: readonly Line[];
  readonly modifiedMs: number;
}

export type SearchOutcome =
  | { readonly ok: true; readonly hits: readonly FileHits[]; readonly incomplete: boolean }
  | { readonly ok: false; readonly error: string };

const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_LINES = 50_000;
const BINARY_PROBE_BYTES = 8192;

function search(job: SearchJob): SearchOutcome {
  const pattern = compilePattern(job.pattern, job);
  if (!pattern.ok) return { ok: false, error: pattern.error };
  const began = performance.now();
  const hits: FileHits[] = [];
  let lines = 0;
  for (const file of job.files) {
    if (performance.now() - began > job.budgetMs || lines > MAX_LINES) return { ok: true, hits, incomplete: true };
    const found = searchFile(job, file, pattern.regex);
    if (found === undefined) continue;
    lines += found.lines.length;
    hits.push(found);
  }
  return { ok: true, hits, incomplete: false };
}

function searchFile(job: SearchJob, file: string, regex: RegExp): FileHits | undefined {
  try {
    const real = path.join(job.root, file);
    const stat = fs.lstatSync(real);
    if (!stat.isFile()) return undefined;
    if (job.pattern === "") return { file, matched: 0, lines: [], modifiedMs: stat.mtimeMs };
    if (stat.size > MAX_FILE_BYTES) return undefined;
    const bytes = fs.readFileSync(real);
    if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) return undefined;
    const found = searchText(bytes.toString("utf8"), { ...job, regex });
    if (found.matched === 0) return undefined;
    return { file, matched: found.matched, lines: job.withLines ? found.lines : [], modifiedMs: stat.mtimeMs };
  } catch {
    // a file that went away or may not be read has no hits
    return undefined;
  }
}

parentPort?.postMessage(search(workerData as SearchJob));
