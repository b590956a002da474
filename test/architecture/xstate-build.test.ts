import { expect, it } from "vitest";

// The suite runs on the build of XState that reports misuse; `.ci/run` runs the charts' tests on the silent one as well,
// which is the one in production. Were both runs on the same build, nothing else would show it.
it("runs on the build of XState that NODE_ENV asks for", () => {
  const build = import.meta.resolve("xstate").includes(".development.") ? "development" : "production";
  expect(build).toBe(process.env["NODE_ENV"] === "production" ? "production" : "development");
});
