import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Folder } from "./folder.ts";

let base: string;
let folder: Folder;

beforeEach(async () => {
  base = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "folder-")));
  await fs.mkdir(path.join(base, "ws/src"), { recursive: true });
  await fs.mkdir(path.join(base, "terminals"));
  await fs.mkdir(path.join(base, "ws-other"));
  await fs.writeFile(path.join(base, "secret.txt"), "secret");
  await fs.writeFile(path.join(base, "ws/src/a.ts"), "a");
  folder = await Folder.open(path.join(base, "ws"), [path.join(base, "terminals")]);
});
afterEach(() => fs.rm(base, { recursive: true }));

const link = (target: string, name: string) => fs.symlink(target, path.join(base, "ws", name));

describe("what lies inside", () => {
  it.each([
    ["src/a.ts", "src/a.ts"],
    ["./src/../src/a.ts", "src/a.ts"],
    ["", ""],
    [".", ""],
    ["new/deep/file.txt", "new/deep/file.txt"],
    ["..file", "..file"],
    ["src/...", "src/..."],
  ])("%j", async (wanted, relative) => {
    expect(await folder.locate(wanted)).toEqual({
      ok: true,
      real: path.join(folder.root, relative),
      relative,
      inside: true,
      writable: true,
    });
  });

  it("an absolute path of the folder", async () => {
    expect(await folder.locate(path.join(folder.root, "src/a.ts"))).toMatchObject({ ok: true, relative: "src/a.ts" });
  });

  it("a folder that is named through a link is known by both names", async () => {
    await fs.symlink(path.join(base, "ws"), path.join(base, "alias"));
    const aliased = await Folder.open(path.join(base, "alias"));
    expect(aliased.root).toBe(path.join(base, "ws"));
    for (const name of ["alias", "ws"]) {
      expect(await aliased.locate(path.join(base, name, "src/a.ts"))).toMatchObject({ ok: true, relative: "src/a.ts" });
    }
  });

  it("a link that stays inside is followed", async () => {
    await link("src", "again");
    expect(await folder.locate("again/a.ts")).toMatchObject({ ok: true, relative: "src/a.ts" });
  });
});

describe("what lies outside is refused", () => {
  it.each(["..", "../secret.txt", "src/../../secret.txt", "/etc/passwd", "/", "../ws-other", "src/a.ts\0.png"])(
    "%j",
    async (wanted) => {
      expect(await folder.locate(wanted)).toMatchObject({ ok: false });
      expect((await folder.entry(wanted)).ok).toBe(false);
    },
  );

  it("a link out of the folder, as a file and as a directory on the way", async () => {
    await link("../secret.txt", "leak.txt");
    await link("..", "up");
    await link("/etc", "etc");
    for (const wanted of ["leak.txt", "up/secret.txt", "up/ws-other/new.txt", "etc/passwd"]) {
      expect(await folder.locate(wanted)).toMatchObject({ ok: false });
    }
  });

  it("a link that points at nothing, which a write would create", async () => {
    await link("../not-yet.txt", "dangling");
    expect(await folder.locate("dangling")).toMatchObject({ ok: false });
    expect(await folder.locate("dangling/below")).toMatchObject({ ok: false });
  });

  it("a link into a loop", async () => {
    await link("loop", "loop");
    expect(await folder.locate("loop")).toMatchObject({ ok: false });
  });

  it("removing a link that leads out concerns the link alone", async () => {
    await link("../secret.txt", "leak.txt");
    expect(await folder.entry("leak.txt")).toMatchObject({ ok: true, relative: "leak.txt" });
    await link("..", "up");
    expect(await folder.entry("up/secret.txt")).toMatchObject({ ok: false });
  });
});

it("a further readable directory may be read and not written", async () => {
  const wanted = path.join(base, "terminals/1.txt");
  expect(await folder.locate(wanted)).toEqual({
    ok: true,
    real: wanted,
    relative: wanted,
    inside: false,
    writable: false,
  });
});

it("version control's own folder may be read and not written", async () => {
  for (const wanted of [".git/config", "sub/.git/hooks/pre-commit", ".GIT/config"]) {
    expect(await folder.locate(wanted)).toMatchObject({ ok: true, writable: false });
  }
  expect(await folder.locate(".github/workflows/ci.yml")).toMatchObject({ ok: true, writable: true });
});

it("a folder that is not there or is a file is an error", async () => {
  await expect(Folder.open(path.join(base, "missing"))).rejects.toThrow("ENOENT");
  await expect(Folder.open(path.join(base, "secret.txt"))).rejects.toThrow("is not a folder");
});
