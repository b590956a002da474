import type { WireTransport } from "../../support/wire-client.ts";
import type { Runner } from "../lifecycle/report.ts";
import { runIn } from "../lifecycle/run-schedule.ts";
import type { NodeStores } from "./node-stores.ts";
import { WireWorld } from "./wire-world.ts";

/** Carries schedules out on servers of a database, with a client of one transport. */
export function overWire(stores: NodeStores, transport: WireTransport): Runner {
  return async (steps, coverage) => runIn(await WireWorld.open(coverage, stores, transport), steps, coverage);
}
