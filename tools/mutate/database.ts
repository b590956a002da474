import { startServer } from "@chartroom/test/support/postgres.setup.ts";

/** Runs something with one Postgres for all of its test runs, unless one is named or none is needed. */
export async function withDatabase<T>(needed: boolean, use: (url: string | undefined) => Promise<T>): Promise<T> {
  const given = process.env["TEST_DATABASE_URL"];
  if (!needed || given !== undefined) return use(given);
  const { url, stop } = await startServer();
  try {
    return await use(url);
  } finally {
    await stop();
  }
}
