import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Coverage } from "./lifecycle/coverage.ts";
import { report } from "./lifecycle/report.ts";
import { runSchedule } from "./lifecycle/run-schedule.ts";
import { schedule } from "./lifecycle/schedule.ts";

/** Schedules and events of each. The seed stands, so that the same commit gives the same answer everywhere; `npm run soak` tries new ones. */
const schedules = Number(process.env["CHARTROOM_SCHEDULES"] ?? 10_000);
const least = Number(process.env["CHARTROOM_EVENTS"] ?? 30);
const seed = Number(process.env["CHARTROOM_SEED"] ?? 1);

test(`${schedules} random schedules of at least ${least} events keep the ten invariants (LC-16)`, async () => {
  const coverage = new Coverage();
  const begun = performance.now();
  console.log(`seed ${seed}: CHARTROOM_SEED=${seed} runs the same schedules`);
  const property = fc.asyncProperty(schedule(least), (steps) => runSchedule(steps, coverage));
  const result = await fc.check(property, { numRuns: schedules, seed, endOnFailure: true });
  const seconds = (performance.now() - begun) / 1_000;
  console.log(`${coverage.schedules} schedules, ${coverage.events} events, ${seconds.toFixed(1)} s`);
  if (result.failed) {
    const [steps] = result.counterexample ?? [[]];
    const fault = result.errorInstance instanceof Error ? result.errorInstance.message : "";
    throw new Error(`seed ${seed}, schedule ${result.numRuns}: ${await report(steps, fault)}`);
  }
  console.log(`cells of the command table, and how often each was met:\n${coverage.toString()}`);
  // a quick look with few schedules says nothing about how often a cell is met
  expect(schedules >= 10_000 ? coverage.below(20) : []).toEqual([]);
}, 3_600_000);
