import type { NodeId } from "@chartroom/domain";
import { describe } from "vitest";
import { barriers } from "../contract/store-barriers.ts";
import { bindings } from "../contract/store-bindings.ts";
import { fencing } from "../contract/store-fencing.ts";
import { history } from "../contract/store-history.ts";
import type { StoreAdapter } from "../contract/store-adapter.ts";
import { MemoryTruth } from "./memory-store.ts";

/** The store that the property tests of the lifecycle run on keeps the contract of the one on Postgres. */
describe("the store in memory", () => {
  const truth = new MemoryTruth();
  let nodes = 0;
  const adapter: StoreAdapter = {
    async node() {
      const id = `node-${++nodes}` as NodeId;
      return { id, store: truth.node(id), expire: async () => truth.expire(id) };
    },
    close: async () => undefined,
  };
  for (const suite of [fencing, barriers, history, bindings]) suite(() => adapter);
});
