/** A run of a part of the tests. */
export interface Suite {
  /** Arguments of `vitest run`. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** It needs the database. */
  readonly database?: boolean;
}

/** The machine's own few threads of a process are enough for tests that only compute. */
const ONE_THREAD = ["--project", "unit", "--no-isolate", "--maxWorkers=1", "--pool=threads"];
const WITH_DATABASE = ["--maxWorkers=1"];

const SUITES = {
  machines: { args: ["machines", ...ONE_THREAD] },
  conversation: { args: ["packages/conversation", ...ONE_THREAD] },
  cluster: { args: ["packages/cluster", ...ONE_THREAD] },
  "command table": { args: ["test/lifecycle/table.test.ts", ...WITH_DATABASE], database: true },
  lifecycle: {
    args: ["test/lifecycle", "--exclude", "**/table.test.ts", ...WITH_DATABASE],
    database: true,
  },
  "random schedules": {
    args: ["test/property/lifecycle.test.ts", "test/property/found.test.ts", "--maxWorkers=1"],
    env: { CHARTROOM_SCHEDULES: "400" },
  },
  "store contract": {
    args: [
      ...["store.test.ts", "store-lease", "store-property"].map((name) => `test/contract/${name}`),
      ...WITH_DATABASE,
    ],
    database: true,
  },
  store: {
    args: ["packages/store/src/barrier.test.ts", "packages/store/src/commit.test.ts", "--maxWorkers=1"],
    database: true,
  },
  lease: { args: ["test/contract/store-lease", ...WITH_DATABASE], database: true },
  "two servers": { args: ["test/failure/two-servers.test.ts", ...WITH_DATABASE], database: true },
  history: { args: ["packages/history", "packages/prompting", ...ONE_THREAD] },
  "random histories": {
    args: ["test/property/history", "--maxWorkers=1"],
    env: { HISTORY_RUNS: "500" },
  },
  "history rooms": { args: ["test/history", ...WITH_DATABASE], database: true },
} satisfies Record<string, Suite>;

export type SuiteName = keyof typeof SUITES;

export const suites: Readonly<Record<SuiteName, Suite>> = SUITES;
