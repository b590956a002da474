import fs from "node:fs/promises";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Bench } from "../../test/tools.ts";
import type { ApprovalRequest } from "./consent.ts";
import { cutLines } from "./read.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(() => bench.close());

const read = (path: string, rest: object = {}) => bench.run({ case: "readArgs", value: { path, ...rest } });
const write = (path: string, fileText: string, rest: object = {}) =>
  bench.run({ case: "writeArgs", value: { path, fileText, ...rest } });
const remove = (path: string) => bench.run({ case: "deleteArgs", value: { path } });

/** A bench whose user gives one answer, and remembers what it was asked. */
async function asking(answer: "yes" | "no"): Promise<ApprovalRequest[]> {
  const asked: ApprovalRequest[] = [];
  await bench.close();
  bench = await Bench.open({
    approve: (request) => {
      asked.push(request);
      return Promise.resolve(answer);
    },
    answer: () => Promise.resolve(undefined),
  });
  return asked;
}

describe("read", () => {
  it("gives a file with its measures", async () => {
    await bench.write("README.md", "# Demo\n");
    for (const name of ["README.md", bench.path("README.md")]) {
      expect(await read(name)).toEqual({
        readResult: { success: { path: name, content: "# Demo\n", totalLines: 1, fileSize: "7" } },
      });
    }
  });

  it("gives lines of it", async () => {
    await bench.write("a.txt", "1\n2\r\n3\n4");
    expect(await read("a.txt", { offset: 2, limit: 2 })).toEqual({
      readResult: {
        success: { path: "a.txt", content: "2\r\n3\n", totalLines: 4, fileSize: "8", rangeApplied: true },
      },
    });
  });

  it("gives an image as bytes, and no other binary file", async () => {
    const png = Buffer.from("89504e470d0a1a0a0000", "hex");
    await bench.write("a.png", png);
    await bench.write("a.bin", "a\0b");
    expect(await read("a.png")).toEqual({
      readResult: { success: { path: "a.png", data: png.toString("base64"), fileSize: "10" } },
    });
    expect(await read("a.bin")).toEqual({ readResult: { invalidFile: { path: "a.bin", reason: "a binary file" } } });
  });

  it("reads UTF-16 with its mark, and keeps the mark of UTF-8", async () => {
    await bench.write("wide.txt", Buffer.from("\uFEFFhi", "utf16le"));
    await bench.write("bom.txt", "\uFEFFhi");
    expect(await read("wide.txt")).toMatchObject({ readResult: { success: { content: "\uFEFFhi" } } });
    expect(await read("bom.txt")).toMatchObject({ readResult: { success: { content: "\uFEFFhi" } } });
  });

  it("says what is wrong", async () => {
    await bench.write("dir/a", "");
    execFileSync("mkfifo", [bench.path("pipe")]);
    await fs.symlink("../secret.txt", bench.path("leak"));
    expect(await read("missing/x")).toEqual({ readResult: { fileNotFound: { path: "missing/x" } } });
    expect(await read("dir/a/b")).toEqual({ readResult: { fileNotFound: { path: "dir/a/b" } } });
    expect(await read("dir")).toEqual({ readResult: { invalidFile: { path: "dir", reason: "a folder" } } });
    expect(await read("pipe")).toEqual({ readResult: { invalidFile: { path: "pipe", reason: "not a file" } } });
    for (const outside of ["leak", "../secret.txt", "/etc/passwd"]) {
      expect(await read(outside)).toEqual({
        readResult: { rejected: { path: outside, reason: "the path leads out of the folder" } },
      });
    }
  });

  it("reads the output file of a command", async () => {
    await fs.writeFile(path.join(bench.base, "terminals/1.txt"), "output");
    expect(await read(path.join(bench.base, "terminals/1.txt"))).toMatchObject({
      readResult: { success: { content: "output" } },
    });
  });

  it.each([
    [undefined, undefined, "a\nb\nc\n"],
    [0, undefined, "a\nb\nc\n"],
    [3, undefined, "c\n"],
    [9, 2, ""],
    [-1, undefined, "c\n"],
    [-9, 1, "a\n"],
    [undefined, 2, "a\nb\n"],
  ])("lines from %s, %s of them", (offset, limit, content) => {
    expect(cutLines("a\nb\nc\n", offset, limit)).toEqual({ content, totalLines: 3 });
  });
});

describe("write", () => {
  it("makes the file and its folders", async () => {
    expect(await write("new/deep/a.txt", "one\ntwo\n", { returnFileContentAfterWrite: true })).toEqual({
      writeResult: {
        success: { path: "new/deep/a.txt", linesCreated: 2, fileSize: 8, fileContentAfterWrite: "one\ntwo\n" },
      },
    });
    expect(await bench.text("new/deep/a.txt")).toBe("one\ntwo\n");
  });

  it("takes bytes, and makes an empty file", async () => {
    await write("a.bin", "", { fileBytes: Uint8Array.of(1, 0, 255) });
    expect(await fs.readFile(bench.path("a.bin"))).toEqual(Buffer.from([1, 0, 255]));
    expect(await write("empty", "")).toEqual({ writeResult: { success: { path: "empty" } } });
  });

  it("asks first and shows what changes; a no is a typed answer", async () => {
    const asked = await asking("no");
    await bench.write("a.txt", "old\n");
    expect(await write("a.txt", "new\n")).toEqual({
      writeResult: { rejected: { path: "a.txt", reason: "The user refused this." } },
    });
    expect(asked).toEqual([{ kind: "write", path: "a.txt", before: "old\n", after: "new\n" }]);
    expect(await bench.text("a.txt")).toBe("old\n");
  });

  it("never leaves the folder and never touches version control's own", async () => {
    const asked = await asking("yes");
    await fs.symlink("../secret.txt", bench.path("leak"));
    await fs.symlink("../new.txt", bench.path("dangling"));
    await fs.symlink("..", bench.path("up"));
    for (const outside of ["leak", "dangling", "up/x", "../x", "/tmp/x", ".git/hooks/pre-commit"]) {
      expect(await write(outside, "x")).toMatchObject({ writeResult: { rejected: { path: outside } } });
    }
    expect(asked).toEqual([]);
    expect((await fs.readdir(bench.base)).toSorted()).toEqual(["secret.txt", "terminals", "ws"]);
    expect(await fs.readFile(path.join(bench.base, "secret.txt"), "utf8")).toBe("secret");
  });

  it("does not write U+FFFD over what was no UTF-8", async () => {
    await bench.write("latin1.txt", Buffer.from([0x61, 0xe9, 0x0a]));
    expect(await write("latin1.txt", "a\uFFFD!\n")).toMatchObject({
      writeResult: { error: { error: expect.stringContaining("not UTF-8") } },
    });
    expect(await write("latin1.txt", "plain\n")).toMatchObject({ writeResult: { success: { linesCreated: 1 } } });
  });

  it("keeps the mode of a file that is there", async () => {
    await bench.write("run.sh", "old");
    await fs.chmod(bench.path("run.sh"), 0o755);
    await write("run.sh", "new");
    expect((await fs.stat(bench.path("run.sh"))).mode & 0o777).toBe(0o755);
  });

  it("says what is wrong", async () => {
    await bench.write("dir/a", "x");
    expect(await write("dir", "x")).toEqual({ writeResult: { error: { path: "dir", error: "a folder is there" } } });
    expect(await write("dir/a/b", "x")).toMatchObject({ writeResult: { error: { path: "dir/a/b" } } });
  });
});

describe("delete", () => {
  it("removes a file and gives back what it held", async () => {
    await bench.write("a.txt", "gone\n");
    expect(await remove("a.txt")).toEqual({
      deleteResult: {
        success: { path: "a.txt", deletedFile: bench.path("a.txt"), fileSize: "5", prevContent: "gone\n" },
      },
    });
    expect(await remove("a.txt")).toEqual({ deleteResult: { fileNotFound: { path: "a.txt" } } });
  });

  it("removes a link and not what it points at", async () => {
    await fs.symlink("../secret.txt", bench.path("leak"));
    expect(await remove("leak")).toMatchObject({ deleteResult: { success: { path: "leak" } } });
    expect(await fs.readFile(path.join(bench.base, "secret.txt"), "utf8")).toBe("secret");
  });

  it("refuses folders, what lies outside, and what the user does not want", async () => {
    await bench.write("dir/a", "x");
    expect(await remove("dir")).toEqual({ deleteResult: { notFile: { path: "dir", actualType: "directory" } } });
    expect(await remove("../secret.txt")).toMatchObject({ deleteResult: { rejected: { path: "../secret.txt" } } });
    expect(await remove(".git/config")).toMatchObject({ deleteResult: { rejected: {} } });
    const asked = await asking("no");
    await bench.write("a", "x");
    expect(await remove("a")).toEqual({
      deleteResult: { rejected: { path: "a", reason: "The user refused this." } },
    });
    expect(asked).toEqual([{ kind: "delete", path: "a" }]);
    expect(await bench.text("a")).toBe("x");
  });
});

describe("ls", () => {
  const ls = (path: string) => bench.run({ case: "lsArgs", value: { path } });

  it("gives a tree", async () => {
    await bench.write("src/a.ts", "");
    expect(await ls("")).toMatchObject({
      lsResult: {
        success: {
          directoryTreeRoot: {
            absPath: bench.folder.root,
            childrenWereProcessed: true,
            childrenDirs: [{ absPath: bench.path("src"), childrenFiles: [{ name: "a.ts" }], numFiles: 1 }],
          },
        },
      },
    });
  });

  it("lists the output files of commands", async () => {
    await fs.writeFile(path.join(bench.base, "terminals/1.txt"), "");
    expect(await ls(path.join(bench.base, "terminals"))).toMatchObject({
      lsResult: { success: { directoryTreeRoot: { childrenFiles: [{ name: "1.txt" }] } } },
    });
  });

  it("says what is wrong", async () => {
    expect(await ls("missing")).toMatchObject({ lsResult: { error: { path: "missing" } } });
    expect(await ls("/etc")).toMatchObject({ lsResult: { rejected: { path: "/etc" } } });
  });
});

describe("grep", () => {
  const grep = (pattern: string, rest: object = {}) => bench.run({ case: "grepArgs", value: { pattern, ...rest } });
  const resultOf = async (pattern: string, rest: object = {}) => {
    const { grepResult } = (await grep(pattern, rest)) as { grepResult: { success: { workspaceResults: object } } };
    return Object.values(grepResult.success.workspaceResults)[0] as Record<string, unknown>;
  };

  beforeEach(async () => {
    await bench.write("a.ts", "x\ny\n// TODO\nz\n");
    await bench.write("src/b.ts", "TODO TODO\n");
  });

  it("gives lines in the wire's form", async () => {
    expect(await grep("TODO", { path: bench.folder.root, outputMode: "content" })).toEqual({
      grepResult: {
        success: {
          pattern: "TODO",
          path: bench.folder.root,
          outputMode: "content",
          workspaceResults: {
            [bench.folder.root]: {
              content: {
                matches: [
                  { file: "a.ts", matches: [{ lineNumber: 3, content: "// TODO" }] },
                  { file: "src/b.ts", matches: [{ lineNumber: 1, content: "TODO TODO" }] },
                ],
                totalLines: 2,
                totalMatchedLines: 2,
              },
            },
          },
        },
      },
    });
  });

  it("gives lines around, and a page of them", async () => {
    expect(await resultOf("TODO", { context: 1, headLimit: 2, offset: 1 })).toEqual({
      content: {
        matches: [
          {
            file: "a.ts",
            matches: [
              { lineNumber: 3, content: "// TODO" },
              { lineNumber: 4, content: "z", isContextLine: true },
            ],
          },
        ],
        totalLines: 4,
        totalMatchedLines: 2,
        clientTruncated: true,
        headLimitApplied: 2,
        offsetApplied: 1,
      },
    });
  });

  it("gives files and counts", async () => {
    expect(await resultOf("TODO", { outputMode: "files_with_matches", headLimit: 1 })).toEqual({
      files: { files: ["a.ts"], totalFiles: 2, clientTruncated: true, headLimitApplied: 1 },
    });
    expect(await resultOf("todo", { outputMode: "count", caseInsensitive: true })).toEqual({
      count: {
        counts: [
          { file: "a.ts", count: 1 },
          { file: "src/b.ts", count: 1 },
        ],
        totalFiles: 2,
        totalMatches: 2,
      },
    });
  });

  it("an empty pattern with a glob lists files, by time when asked", async () => {
    await fs.utimes(bench.path("a.ts"), new Date(), new Date(Date.now() + 60_000));
    const files = async (rest: object) => resultOf("", { glob: "**/*.ts", outputMode: "files_with_matches", ...rest });
    expect(await files({})).toMatchObject({ files: { files: ["a.ts", "src/b.ts"] } });
    expect(await files({ sort: "modified" })).toMatchObject({ files: { files: ["a.ts", "src/b.ts"] } });
    expect(await files({ sort: "modified", sortAscending: true })).toMatchObject({
      files: { files: ["src/b.ts", "a.ts"] },
    });
  });

  it("says what is wrong", async () => {
    expect(await grep("(")).toMatchObject({ grepResult: { error: {} } });
    expect(await grep("x", { path: "/etc" })).toEqual({
      grepResult: { error: { error: "the path leads out of the folder" } },
    });
    expect(await grep("x", { path: path.join(bench.base, "terminals") })).toMatchObject({ grepResult: { error: {} } });
  });
});
