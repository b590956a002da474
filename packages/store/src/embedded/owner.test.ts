import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeFolder } from "./owner.ts";
import { processIdentity } from "./process.ts";

let dir: string;
const file = (): string => path.join(dir, "owner.json");
const ownerIs = (pid: number, identity: string | undefined): void =>
  fs.writeFileSync(file(), JSON.stringify({ pid, identity, token: "before" }));

beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-owner-"));
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

describe("a folder", () => {
  it("belongs to one taker until it is given back", () => {
    const ownership = takeFolder(dir);
    expect(ownership.afterCrash).toBe(false);
    expect(() => takeFolder(dir)).toThrow(expect.objectContaining({ code: "folderInUse" }));
    ownership.release();
    expect(fs.readdirSync(dir)).toEqual([]);
    takeFolder(dir).release();
  });

  it("of a living process is refused, with its name, whose it is, and what to do", async () => {
    const other = spawn("sleep", ["60"]);
    await once(other, "spawn");
    ownerIs(other.pid!, processIdentity(other.pid!));
    expect(() => takeFolder(dir)).toThrow(dir);
    expect(() => takeFolder(dir)).toThrow(`process ${other.pid}`);
    expect(() => takeFolder(dir)).toThrow(/CHARTROOM_DATA.*DATABASE_URL/);
    other.kill("SIGKILL");
    await once(other, "exit");
    expect(takeFolder(dir).afterCrash).toBe(true);
  });

  it("of a process whose number now belongs to another is free", () => {
    ownerIs(process.pid, "started at another time");
    expect(takeFolder(dir).afterCrash).toBe(true);
  });

  it("with an owner's file that a power cut emptied is free", () => {
    fs.writeFileSync(file(), "");
    expect(takeFolder(dir).afterCrash).toBe(true);
    expect(fs.readdirSync(dir)).toEqual(["owner.json"]);
  });

  it("is free though the process that wanted to take it over died at it", () => {
    ownerIs(process.pid, "gone");
    fs.writeFileSync(`${file()}.before`, JSON.stringify({ pid: process.pid, identity: "gone too", token: "x" }));
    expect(takeFolder(dir).afterCrash).toBe(true);
    expect(fs.readdirSync(dir)).toEqual(["owner.json"]);
  });

  it("given back late, after another has taken it, stays with the other", () => {
    const late = takeFolder(dir);
    ownerIs(process.pid, "gone");
    takeFolder(dir);
    late.release();
    expect(fs.existsSync(file())).toBe(true);
  });

  it("that many processes want at once goes to exactly one, new or left behind", async () => {
    const script = `
      import { takeFolder } from ${JSON.stringify(new URL("./owner.ts", import.meta.url).href)};
      try { takeFolder(process.argv[1]); console.log("mine"); } catch (error) { console.log(error.code); }
      process.stdin.resume();`;
    for (const left of [false, true]) {
      fs.rmSync(file(), { force: true });
      if (left) ownerIs(process.pid, "gone");
      const all = Array.from({ length: 6 }, () =>
        spawn(process.execPath, ["--input-type=module", "-e", script, dir], { stdio: ["pipe", "pipe", "inherit"] }),
      );
      // each lives on until all have said what they got
      const said = await Promise.all(all.map(async ({ stdout }) => String((await once(stdout, "data"))[0]).trim()));
      const ended = all.map((one) => once(one, "exit"));
      for (const one of all) one.stdin.end();
      await Promise.all(ended);
      expect(said.toSorted()).toEqual([...Array.from({ length: 5 }, () => "folderInUse"), "mine"]);
    }
  }, 30_000);
});

describe("the identity of a process", () => {
  it("is the same while it lives, differs from others', and is none when it has ended, collected or not", async () => {
    const other = spawn("sleep", ["60"]);
    await once(other, "spawn");
    const identity = processIdentity(other.pid!);
    expect(identity).toBeDefined();
    expect(processIdentity(other.pid!)).toBe(identity);
    expect(processIdentity(process.pid)).not.toBe(identity);
    other.kill("SIGKILL");
    await expect.poll(() => processIdentity(other.pid!), { timeout: 10_000 }).toBeUndefined();
  });
});
