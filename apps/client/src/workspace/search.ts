import path from "node:path";
import { Worker } from "node:worker_threads";
import { globOfType } from "./file-types.ts";
import { compileGlob, type PathFilter } from "./glob.ts";
import { listFiles } from "./list.ts";
import type { SearchJob, SearchOutcome } from "./search-worker.ts";

export interface SearchRequest {
  /** The folder that results are relative to. */
  readonly root: string;
  /** The file or folder to search, relative to `root`. */
  readonly within: string;
  readonly pattern: string;
  readonly glob: string | undefined;
  readonly type: string | undefined;
  readonly caseInsensitive: boolean;
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
  readonly withLines: boolean;
  readonly withTimes: boolean;
}

const BUDGET_MS = 20_000;
/** How much longer a thread may take before it counts as stuck in one pattern. */
const GRACE_MS = 3_000;

/** Searches files that are not ignored, on a thread of its own; stops when `signal` aborts. */
export async function searchFiles(request: SearchRequest, signal: AbortSignal): Promise<SearchOutcome> {
  const filters: PathFilter[] = [];
  if (request.glob !== undefined && request.glob !== "") filters.push(compileGlob(request.glob));
  if (request.type !== undefined && request.type !== "") {
    const glob = globOfType(request.type);
    if (glob === undefined) return { ok: false, error: `unknown file type: ${request.type}` };
    filters.push(compileGlob(glob));
  }
  const listing = await listFiles(request.root, request.within);
  const prefix = request.within === "" ? 0 : request.within.length + 1;
  const files = listing.files.filter((file) => {
    const inside = file.slice(prefix) || path.posix.basename(file);
    return filters.every((filter) => filter(inside) || filter(file));
  });
  const outcome = await onThread({ ...request, files, budgetMs: BUDGET_MS }, signal);
  return outcome.ok ? { ...outcome, incomplete: outcome.incomplete || listing.incomplete } : outcome;
}

function onThread(job: SearchJob, signal: AbortSignal): Promise<SearchOutcome> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL("./search-worker.ts", import.meta.url), {
      workerData: job,
      // flags of the main thread, such as a test runner's loader, are none of this thread's business
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    const stuck = setTimeout(() => done({ ok: false, error: "the search took too long" }), BUDGET_MS + GRACE_MS);
    const aborted = () => done({ ok: false, error: "the search was stopped" });
    signal.addEventListener("abort", aborted, { once: true });
    worker.once("message", (outcome: SearchOutcome) => done(outcome));
    worker.once("error", (error) => done({ ok: false, error: error instanceof Error ? error.message : String(error) }));
    if (signal.aborted) aborted();

    function done(outcome: SearchOutcome): void {
      clearTimeout(stuck);
      signal.removeEventListener("abort", aborted);
      resolve(outcome);
      void worker.terminate();
    }
  });
}
