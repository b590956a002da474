import { describe, expect, it } from "vitest";
import { play } from "../../test/support.ts";

type Reply = Parameters<ReturnType<typeof play>["reply"]>[0];
const grepResult = (result: object): Reply => ({ case: "grepResult", value: { result } }) as Reply;
const found = (workspaceResults: object, rest: object = {}) =>
  grepResult({ case: "success", value: { pattern: "x", workspaceResults, ...rest } });
const content = (value: object) => ({ result: { case: "content", value } });

function text(args: object, reply: Reply, tool = "Grep"): string {
  const game = play(tool, { pattern: "x", glob_pattern: "*.ts", ...args });
  game.begin();
  game.reply(reply);
  return game.result().text;
}

describe("Grep", () => {
  it("asks with all its arguments (example 5)", () => {
    const game = play("Grep", {
      pattern: "NOTE",
      path: "src",
      glob: "*.ts",
      output_mode: "count",
      "-A": 1,
      "-B": 2,
      "-C": 3.0,
      "-i": true,
      type: "ts",
      head_limit: 9,
      offset: 4,
      multiline: true,
    });
    game.begin();
    const { $typeName, $unknown, ...args } = game.execs()[0]!.exec.message.value as unknown as Record<string, unknown>;
    expect($unknown).toBeUndefined();
    expect($typeName).toBe("agent.v1.GrepArgs");
    expect(args).toEqual({
      pattern: "NOTE",
      path: "/ws/demo/src",
      glob: "*.ts",
      outputMode: "count",
      contextAfter: 1,
      contextBefore: 2,
      context: 3,
      caseInsensitive: true,
      type: "ts",
      headLimit: 9,
      offset: 4,
      multiline: true,
      toolCallId: "call_1",
    });
  });

  it("gives matching lines under their files", () => {
    const reply = found({
      "/ws/demo": content({
        matches: [
          {
            file: "a.ts",
            matches: [
              { lineNumber: 3, content: "// NOTE\n" },
              { lineNumber: 9, content: "x" },
            ],
          },
          { file: "b.ts", matches: [{ lineNumber: 1, content: "y", contentTruncated: true }] },
          { file: "c.ts", matches: [] },
        ],
        totalMatchedLines: 3,
      }),
    });
    expect(text({}, reply)).toBe("a.ts\n3:// NOTE\n9:x\n\nb.ts\n1:y […]");
  });

  it("marks context lines, and what does not follow", () => {
    const lines = [
      { lineNumber: 2, content: "a", isContextLine: true },
      { lineNumber: 3, content: "b" },
      { lineNumber: 7, content: "c" },
    ];
    expect(text({}, found({ w: content({ matches: [{ file: "f", matches: lines }] }) }))).toBe("f\n2-a\n3:b\n--\n7:c");
  });

  it("gives paths, and counts", () => {
    expect(text({}, found({ w: { result: { case: "files", value: { files: ["a", "b"], totalFiles: 2 } } } }))).toBe(
      "a\nb",
    );
    const counts = {
      counts: [
        { file: "a", count: 2 },
        { file: "b", count: 1 },
      ],
      totalFiles: 2,
    };
    expect(text({}, found({ w: { result: { case: "count", value: counts } } }))).toBe("a:2\nb:1");
  });

  it("tells what was left out", () => {
    const files = (rest: object) => found({ w: { result: { case: "files", value: { files: ["a"], ...rest } } } });
    expect(text({}, files({ totalFiles: 5, headLimitApplied: 1 }))).toBe("a\n\n[the first 1 of 5 files]");
    expect(text({}, files({ totalFiles: 1, headLimitApplied: 1 }))).toBe("a");
    expect(text({}, files({ totalFiles: 5, clientTruncated: true }))).toBe(
      "a\n\n[cut off; there is more (5 files in all). Narrow the search.]",
    );
    expect(text({}, files({ ripgrepTruncated: true }))).toBe("a\n\n[cut off; there is more. Narrow the search.]");
  });

  it("names the workspace where there are several, in the order of their names", () => {
    const one = (file: string) => content({ matches: [{ file, matches: [{ lineNumber: 1, content: "x" }] }] });
    expect(text({}, found({ "/b": one("f"), "/a": one("g") }))).toBe("/a:\ng\n1:x\n\n/b:\nf\n1:x");
  });

  it("tells of no match, of an error, and of an answer without content", () => {
    expect(text({}, found({}))).toBe("No matches found.");
    expect(text({}, found({ w: content({}) }))).toBe("No matches found.");
    const game = play("Grep", { pattern: "(" });
    game.begin();
    game.reply(grepResult({ case: "error", value: { error: "unclosed group" } }));
    expect(game.result()).toMatchObject({ isError: true, text: "The search failed: unclosed group" });
    expect(text({}, grepResult({ case: undefined }))).toContain("no result for this tool");
  });
});

describe("Glob", () => {
  it("takes a list that only holds an empty name for an empty list", () => {
    const reply = found({ w: { result: { case: "files", value: { files: [""] } } } });
    expect(text({}, reply, "Glob")).toBe("No files found.");
  });

  it("is a grep with an empty pattern, at any depth", () => {
    const game = play("Glob", { glob_pattern: "*.ts", target_directory: "src" });
    game.begin();
    expect(game.execs()[0]?.exec.message).toMatchObject({
      case: "grepArgs",
      value: { pattern: "", glob: "**/*.ts", path: "/ws/demo/src", outputMode: "files_with_matches" },
    });
    expect(game.updates()[0]).toMatchObject({
      value: {
        toolCall: {
          tool: { case: "globToolCall", value: { args: { globPattern: "*.ts", targetDirectory: "/ws/demo/src" } } },
        },
      },
    });
  });

  it.each([
    ["**/a", "**/a"],
    ["./src/*.ts", "**/src/*.ts"],
    ["/abs/*.ts", "/abs/*.ts"],
  ])("asks for %s as %s", (given, asked) => {
    const game = play("Glob", { glob_pattern: given });
    game.begin();
    expect(game.execs()[0]?.exec.message.value).toMatchObject({ glob: asked });
  });

  it("gives the files of all workspaces, in its own card", () => {
    const files = (...names: string[]) => ({
      result: { case: "files", value: { files: names, totalFiles: names.length } },
    });
    const game = play("Glob", { glob_pattern: "*.ts" });
    game.begin();
    game.reply(found({ "/b": files("./x.ts"), "/a": files("/a/y.ts") }));
    expect(game.result()).toMatchObject({ isError: false, text: "/a/y.ts\n/b/x.ts" });
    expect(game.completed().tool).toMatchObject({
      case: "globToolCall",
      value: { result: { result: { case: "success", value: { files: ["/a/y.ts", "/b/x.ts"], totalFiles: 2 } } } },
    });
  });

  it("tells of no file, of a cut list and of an error", () => {
    expect(text({}, found({}), "Glob")).toBe("No files found.");
    const cut = (rest: object) => found({ w: { result: { case: "files", value: { files: ["a"], ...rest } } } });
    expect(text({}, cut({ totalFiles: 9 }), "Glob")).toBe("a\n\n[1 file of 9. Narrow the pattern.]");
    expect(text({}, cut({ totalFiles: 1, clientTruncated: true }), "Glob")).toBe(
      "a\n\n[1 file of 1 or more. Narrow the pattern.]",
    );
    expect(text({}, grepResult({ case: "error", value: {} }), "Glob")).toBe("The search failed.");
  });
});
