import * as fc from "fast-check";
import { describe, onTestFinished } from "vitest";
import { test } from "../support/database.ts";
import { WIRE_TRANSPORTS } from "../support/wire-client.ts";
import { Coverage } from "./lifecycle/coverage.ts";
import { report } from "./lifecycle/report.ts";
import { schedule } from "./lifecycle/schedule.ts";
import { NodeStores } from "./wire/node-stores.ts";
import { overWire } from "./wire/run-over-wire.ts";

/** Schedules per transport, and events of each. The seed stands; `npm run soak -- --wire` tries new ones. */
const schedules = Number(process.env["CHARTROOM_WIRE_SCHEDULES"] ?? 150);
const least = Number(process.env["CHARTROOM_WIRE_EVENTS"] ?? 30);
const seed = Number(process.env["CHARTROOM_SEED"] ?? 1);

describe.each(WIRE_TRANSPORTS)("over sockets, %s", (transport) => {
  test(`${schedules} random schedules of at least ${least} events keep the invariants that a client and the database show (LC-16)`, async ({
    url,
  }) => {
    const stores = new NodeStores(url);
    onTestFinished(() => stores.close());
    const run = overWire(stores, transport);
    const coverage = new Coverage();
    const begun = performance.now();
    console.log(`seed ${seed}: CHARTROOM_SEED=${seed} runs the same schedules`);
    const property = fc.asyncProperty(schedule(least), (steps) => run(steps, coverage));
    const result = await fc.check(property, { numRuns: schedules, seed, endOnFailure: true });
    const seconds = (performance.now() - begun) / 1_000;
    console.log(`${coverage.schedules} schedules, ${coverage.events} events, ${seconds.toFixed(1)} s`);
    if (!result.failed) return;
    const [steps] = result.counterexample ?? [[]];
    const fault = result.errorInstance instanceof Error ? result.errorInstance.message : "";
    throw new Error(`seed ${seed}, schedule ${result.numRuns}: ${await report(steps, fault, run)}`);
  }, 600_000);
});
