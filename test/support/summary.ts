import type { Reporter, TestModule } from "vitest/node";

/** Ends a run with one plain line that a log reader can count: `N passed, N failed`, and `, N skipped` only if there are any. */
export default class Summary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0 };
    for (const module of modules) {
      let failedTests = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") count.passed++;
        else if (state === "failed") failedTests++;
        else count.skipped++;
      }
      // a module that could not be loaded has no tests to fail
      count.failed += module.state() === "failed" ? Math.max(failedTests, 1) : failedTests;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${skipped}\n`);
  }
}
