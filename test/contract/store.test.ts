import { afterAll, beforeAll, describe } from "vitest";
import { createDatabase, type TestDatabase } from "../support/database.ts";
import { postgresAdapter, type StoreAdapter } from "./store-adapter.ts";
import { barriers } from "./store-barriers.ts";
import { bindings } from "./store-bindings.ts";
import { fencing } from "./store-fencing.ts";
import { history } from "./store-history.ts";

describe("the store on Postgres", () => {
  let database: TestDatabase;
  let adapter: StoreAdapter;
  beforeAll(async () => {
    database = await createDatabase();
    adapter = postgresAdapter(database.url);
  });
  afterAll(async () => {
    await adapter.close();
    await database.drop();
  });

  for (const suite of [fencing, barriers, history, bindings]) suite(() => adapter);
});
