import { execFileSync } from "node:child_process";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { requestContext, withoutCredentials } from "./context.ts";
import { Folder } from "./folder.ts";
import { ruleOf } from "./rules.ts";
import { directoryTree, treeText } from "./tree.ts";

let root: string;
beforeEach(async () => {
  root = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "context-")));
});
afterEach(() => fs.rm(root, { recursive: true }));

async function write(name: string, content = ""): Promise<void> {
  await fs.mkdir(path.dirname(path.join(root, name)), { recursive: true });
  await fs.writeFile(path.join(root, name), content);
}

const contextOf = async () =>
  requestContext({
    folder: await Folder.open(root),
    terminalsFolder: "/data/terminals",
    tools: [],
    instructions: [],
  });

describe("requestContext", () => {
  it("tells of the repository, its rules and its layout", async () => {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: root });
    git("init", "-q", "-b", "trunk");
    git("remote", "add", "origin", "https://user:secret@example.com/team/repo.git");
    await write("AGENTS.md", "Be brief.");
    await write(".cursor/rules/style.mdc", "---\nalwaysApply: true\n---\nUse tabs.\n");
    await write("src/index.ts");
    await write("dist/out.js");
    await write(".gitignore", "dist/\n");
    const context = await contextOf();
    expect(context.gitRepos).toMatchObject([
      { path: root, branchName: "trunk", remoteUrl: "https://example.com/team/repo.git" },
    ]);
    expect(context.gitRepos[0]?.status).toContain("?? src/");
    expect(
      context.rules.map((rule) => [path.relative(root, rule.fullPath), rule.content, rule.type?.type.case]),
    ).toEqual([
      ["AGENTS.md", "Be brief.", "global"],
      [".cursor/rules/style.mdc", "Use tabs.\n", "global"],
    ]);
    expect(context.env).toMatchObject({ workspacePaths: [root], terminalsFolder: "/data/terminals" });
    const [layout] = context.projectLayouts;
    if (layout === undefined) throw new Error("no layout");
    expect(treeText(layout)).toEqual([
      ".cursor/",
      "  rules/",
      "    style.mdc",
      "src/",
      "  index.ts",
      ".gitignore",
      "AGENTS.md",
    ]);
  });

  it("works in a plain folder", async () => {
    const context = await contextOf();
    expect(context.gitRepos).toEqual([]);
    expect(context.rules).toEqual([]);
    expect(context.projectLayouts).toHaveLength(1);
  });

  it("does not follow a rule that is a link out of the folder", async () => {
    await fs.symlink("/etc/hostname", path.join(root, "AGENTS.md"));
    expect((await contextOf()).rules).toEqual([]);
  });
});

it("withoutCredentials", () => {
  expect(withoutCredentials("https://token@github.com/a/b")).toBe("https://github.com/a/b");
  expect(withoutCredentials("git@github.com:a/b.git")).toBe("git@github.com:a/b.git");
  expect(withoutCredentials("https://github.com/a/b@c")).toBe("https://github.com/a/b@c");
});

describe("ruleOf", () => {
  const typed = (frontmatter: string) => ruleOf("/ws/r.mdc", `---\n${frontmatter}\n---\nbody`).type?.type;
  it.each([
    ["alwaysApply: true", { case: "global" }],
    [
      "alwaysApply: false\nglobs: *.ts, src/**/*.js",
      { case: "fileGlobbed", value: { globs: ["*.ts", "src/**/*.js"] } },
    ],
    ["globs: [\"a.md\", 'b.md']", { case: "fileGlobbed", value: { globs: ["a.md", "b.md"] } }],
    ["globs:\n  - a.md\n  - b.md\ndescription: x", { case: "fileGlobbed", value: { globs: ["a.md", "b.md"] } }],
    [
      'description: "How to test"\nglobs:\nalwaysApply: false',
      { case: "agentFetched", value: { description: "How to test" } },
    ],
    ["globs:\ndescription:", { case: "manuallyAttached" }],
  ])("%j", (frontmatter, type) => expect(typed(frontmatter)).toMatchObject(type));

  it("keeps the text, and takes one without a block as it is", () => {
    expect(ruleOf("/ws/r.mdc", "---\r\nalwaysApply: true\r\n---\r\nbody\r\n").content).toBe("body\r\n");
    expect(ruleOf("/ws/r.mdc", "no block").content).toBe("no block");
    expect(ruleOf("/ws/r.mdc", "---\n---\nbody").content).toBe("body");
  });
});

describe("directoryTree", () => {
  const names = async (within: string, ignore: string[] = [], limits = { entries: 100, depth: 10 }) =>
    treeText(await directoryTree(root, within, ignore, limits));

  it("names a folder beyond its bounds without opening it, and counts its files", async () => {
    await write("a/b/c.ts");
    await write("a/b/d.ts");
    await write("z.md");
    const tree = await directoryTree(root, "", [], { entries: 100, depth: 2 });
    expect(treeText(tree)).toEqual(["a/", "  b/ …", "z.md"]);
    expect(tree.childrenDirs[0]?.childrenDirs[0]).toMatchObject({
      childrenWereProcessed: false,
      numFiles: 2,
      fullSubtreeExtensionCounts: { ".ts": 2 },
    });
  });

  it("leaves out what it is told to, and what is never listed", async () => {
    await write("src/a.ts");
    await write("src/a.test.ts");
    await write("node_modules/x.js");
    expect(await names("", ["**/*.test.ts"])).toEqual(["src/", "  a.ts"]);
  });

  it("opens an ignored folder that is named", async () => {
    execFileSync("git", ["init", "-q"], { cwd: root });
    await write(".gitignore", "dist\n");
    await write("dist/out.js");
    expect(await names("dist")).toEqual(["out.js"]);
    expect(await names("")).toEqual([".gitignore"]);
  });

  it("fails for what is no folder", async () => {
    await expect(names("missing")).rejects.toThrow("ENOENT");
  });
});
