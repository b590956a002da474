import { migrate } from "@chartroom/store";
import { startServer } from "../../support/postgres.setup.ts";
import type { WireTransport } from "../../support/wire-client.ts";
import type { Runner } from "../lifecycle/report.ts";
import { NodeStores } from "./node-stores.ts";
import { overWire } from "./run-over-wire.ts";

/** A Postgres of its own for schedules over the wire, outside of a test run; gone when it stops. */
export async function soakDatabase(): Promise<{ runner(transport: WireTransport): Runner; stop(): Promise<void> }> {
  const server = await startServer();
  try {
    await migrate(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  const stores = new NodeStores(server.url);
  return {
    runner: (transport) => overWire(stores, transport),
    async stop() {
      await stores.close();
      await server.stop();
    },
  };
}
