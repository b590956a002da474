import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { searchFiles, type SearchRequest } from "./search.ts";

let root: string;
const never = new AbortController().signal;
const all: Omit<SearchRequest, "root"> = {
  within: "",
  pattern: "needle",
  glob: undefined,
  type: undefined,
  caseInsensitive: false,
  multiline: false,
  before: 0,
  after: 0,
  withLines: true,
  withTimes: false,
};

beforeEach(async () => {
  root = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "search-")));
  await write("src/a.ts", "x\nneedle\n");
  await write("src/deep/b.md", "needle needle\n");
  await write("build/out.js", "needle\n");
  await write(".github/ci.yml", "needle\n");
  await write("node_modules/p/index.js", "needle\n");
  await write("image.bin", "needle\0needle\n");
  await fs.symlink("/etc", path.join(root, "etc"));
  await fs.symlink("src/a.ts", path.join(root, "link.ts"));
});
afterEach(() => fs.rm(root, { recursive: true }));

async function write(name: string, content: string): Promise<void> {
  await fs.mkdir(path.dirname(path.join(root, name)), { recursive: true });
  await fs.writeFile(path.join(root, name), content);
}

async function filesOf(request: Partial<SearchRequest>, signal = never): Promise<string[]> {
  const outcome = await searchFiles({ root, ...all, ...request }, signal);
  if (!outcome.ok) throw new Error(outcome.error);
  return outcome.hits.map((hit) => hit.file);
}

it("searches text files, follows no links and leaves well-known folders out", async () => {
  expect(await filesOf({})).toEqual([".github/ci.yml", "build/out.js", "src/a.ts", "src/deep/b.md"]);
});

it("respects what the repository ignores, and searches an ignored folder that is named", async () => {
  execFileSync("git", ["init", "-q"], { cwd: root });
  await write(".gitignore", "build/\nnode_modules/\n");
  expect(await filesOf({})).toEqual([".github/ci.yml", "src/a.ts", "src/deep/b.md"]);
  expect(await filesOf({ within: "build" })).toEqual(["build/out.js"]);
});

it("narrows by folder, file, glob and type", async () => {
  expect(await filesOf({ within: "src" })).toEqual(["src/a.ts", "src/deep/b.md"]);
  expect(await filesOf({ within: "src/a.ts" })).toEqual(["src/a.ts"]);
  expect(await filesOf({ glob: "*.md" })).toEqual(["src/deep/b.md"]);
  expect(await filesOf({ within: "src", glob: "deep/*.md" })).toEqual(["src/deep/b.md"]);
  expect(await filesOf({ type: "ts" })).toEqual(["src/a.ts"]);
  expect(await searchFiles({ root, ...all, type: "cobol" }, never)).toEqual({
    ok: false,
    error: "unknown file type: cobol",
  });
});

it("an empty pattern lists files, binary ones too", async () => {
  expect(await filesOf({ pattern: "", glob: "**/*.{ts,bin}" })).toEqual(["image.bin", "src/a.ts"]);
});

it("a name with glob characters is taken literally", async () => {
  await write("we[i]rd/*.txt", "needle");
  expect(await filesOf({ within: "we[i]rd" })).toEqual(["we[i]rd/*.txt"]);
});

it("stops when told to", async () => {
  const stop = new AbortController();
  const searching = searchFiles({ root, ...all }, stop.signal);
  stop.abort();
  expect(await searching).toEqual({ ok: false, error: "the search was stopped" });
});
