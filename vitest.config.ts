import os from "node:os";
import { defineConfig } from "vitest/config";
import LongFirst from "./test/support/long-first.ts";

const never = ["**/node_modules/**", "**/dist/**", "**/gen/**"];

const globalSetup = ["./test/support/postgres.setup.ts"];

export default defineConfig({
  test: {
    silent: "passed-only",
    // a bound, not an expectation: shared machines stall for seconds
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", "./test/support/summary.ts"],
    exclude: never,
    sequence: { sequencer: LongFirst },
    // the default leaves one core of two idle
    maxWorkers: Math.max(2, os.availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [
            "packages/*/src/**/*.test.ts",
            "machines/**/*.test.ts",
            "protocols/**/*.test.ts",
            "tools/**/*.test.ts",
          ],
          exclude: [...never, "packages/store/**"],
        },
      },
      // what needs the database: one Postgres for the run, a database per file (test/support/database.ts)
      { extends: true, test: { name: "store", include: ["packages/store/src/**/*.test.ts"], globalSetup } },
      { extends: true, test: { name: "apps", include: ["apps/*/{src,test}/**/*.test.ts"], globalSetup } },
      { extends: true, test: { name: "whole", include: ["test/**/*.test.ts"], globalSetup } },
    ],
  },
});
