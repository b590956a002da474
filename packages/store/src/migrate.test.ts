import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { migrationsFolder } from "./migrate.ts";

describe("the migrations", () => {
  it("are what the schema says: nothing is left to generate", () => {
    const out = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-migrations-"));
    try {
      fs.cpSync(migrationsFolder, out, { recursive: true });
      const before = fs.readdirSync(out);
      const kit = path.join(path.dirname(createRequire(import.meta.url).resolve("drizzle-kit")), "bin.cjs");
      const schema = fileURLToPath(new URL("./schema/index.ts", import.meta.url));
      const done = spawnSync(
        process.execPath,
        [kit, "generate", "--dialect", "postgresql", "--schema", schema, "--out", out],
        { cwd: path.dirname(migrationsFolder), encoding: "utf8" },
      );
      expect(done.status, done.stderr).toBe(0);
      expect(fs.readdirSync(out)).toEqual(before);
    } finally {
      fs.rmSync(out, { recursive: true, force: true });
    }
  }, 30_000);
});
