import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { connect } from "../connection.ts";
import { startEmbedded } from "./embedded.ts";
import { runningEmbedded } from "./running.ts";

it("finds the Postgres of a folder while it runs, and none before and after", async () => {
  const parent = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-running-"));
  fs.chmodSync(parent, 0o755);
  const dir = path.join(parent, "postgres");
  try {
    expect(runningEmbedded(dir)).toBeUndefined();
    const embedded = await startEmbedded(dir, { durable: false });
    const url = runningEmbedded(dir);
    expect(url).toBe(embedded.url());
    const sql = connect(url!);
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    await sql.end();
    await embedded.stop();
    expect(runningEmbedded(dir)).toBeUndefined();
  } finally {
    fs.rmSync(parent, { recursive: true, force: true });
  }
});
