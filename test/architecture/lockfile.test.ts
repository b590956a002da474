import fs from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");

it("no lockfile or npm configuration names a registry, so that everybody installs from their own", () => {
  const lock = fs.readFileSync(path.join(root, "pnpm-lock.yaml"), "utf8");
  expect(lock).toContain("lockfileVersion");
  expect(lock.match(/https?:\/\/\S+/g)).toBeNull();
  expect(fs.existsSync(path.join(root, ".npmrc"))).toBe(false);
  expect(fs.existsSync(path.join(root, "package-lock.json"))).toBe(false);
});
