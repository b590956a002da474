import { fileURLToPath } from "node:url";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate as apply } from "drizzle-orm/postgres-js/migrator";
import { connect } from "./connection.ts";
import { toStoreError } from "./failure.ts";

/** The folder of the migrations that come with this package. */
export const migrationsFolder = fileURLToPath(new URL("../migrations", import.meta.url));

/** One number for all processes that migrate this schema. */
const LOCK = 4_347_201_118;

/**
 * Brings the schema of a database up to date. Several processes may do so at once: one works, the others wait for it and
 * find nothing left to do. It has a connection of its own, on which the advisory lock lives and dies.
 */
export async function migrate(url: string): Promise<void> {
  const sql = connect(url, { name: "chartroom migrate" });
  try {
    await sql`select pg_advisory_lock(${LOCK})`;
    await apply(drizzle({ client: sql }), { migrationsFolder });
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
