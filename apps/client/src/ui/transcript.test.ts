import { describe, expect, it } from "vitest";
import type { ToolView, TurnEvent, TurnResult } from "../session/events.ts";
import { approvalRows, resultRows, seconds, short, usageRow } from "./blocks.ts";
import { stylesFor } from "./style.ts";
import { summaryOf, titleOf } from "./tool-text.ts";
import { type Paper, Transcript } from "./transcript.ts";

const styles = stylesFor(false);

class Sheet implements Paper {
  rows: string[] = [];
  now: string | undefined;
  going: string | undefined;
  readonly width: number = 80;
  readonly isTerminal: boolean;
  constructor(isTerminal = false) {
    this.isTerminal = isTerminal;
  }
  row(text: string): void {
    this.rows.push(text);
  }
  partial(text: string | undefined): void {
    this.now = text;
  }
  status(text: string | undefined): void {
    this.going = text;
  }
}

function written(events: TurnEvent[], sheet = new Sheet()): string[] {
  const transcript = new Transcript(sheet, styles, "/ws");
  for (const event of events) transcript.event(event);
  return sheet.rows;
}

const view = (tool: string, args: object, success?: object, outcome = "success"): ToolView => ({
  callId: "c1",
  toolCallId: "c1",
  tool,
  args: args as ToolView["args"],
  ...(success === undefined ? {} : { result: { [outcome]: success } as ToolView["result"] & object, outcome }),
});
const card = (tool: string, args: object, success: object, outcome = "success"): TurnEvent[] => [
  { type: "tool.started", ...view(tool, args) },
  { type: "tool.completed", ...view(tool, args, success, outcome) },
];
const result = (rest: Partial<TurnResult> = {}): TurnEvent => ({
  type: "result",
  outcome: "completed",
  conversation: "c",
  requestId: "r",
  attempts: 1,
  text: "",
  usage: {},
  unsent: [],
  ...rest,
});

describe("a whole turn", () => {
  it("is readable text of 80 columns", () => {
    const rows = written([
      { type: "thinking", text: "The user wants " },
      { type: "thinking", text: "a change." },
      { type: "thinking.completed", durationMs: 420 },
      { type: "text", text: "I'll read it.\n" },
      ...card("read", { path: "/ws/a.txt", offset: 3, limit: 2 }, { content: "x", totalLines: 2 }),
      { type: "text", text: "Now the edit." },
      ...card(
        "edit",
        { path: "/ws/a.txt" },
        {
          linesAdded: 1,
          linesRemoved: 1,
          beforeFullFileContent: "one\ntwo\n",
          afterFullFileContent: "one\n2\n",
        },
      ),
      { type: "tool.started", ...view("shell", { command: "npm test" }) },
      { type: "tool.output", callId: "c1", stream: "stdout", text: "1 pass" },
      { type: "tool.output", callId: "c1", stream: "stdout", text: "ing\n" },
      { type: "tool.completed", ...view("shell", { command: "npm test" }, { stdout: "1 passing\n" }) },
      { type: "text", text: "Done." },
      { type: "checkpoint", usedTokens: 6000, maxTokens: 200_000 },
      result({ usage: { inputTokens: 12_345, outputTokens: 40 } }),
    ]);
    expect(rows).toEqual([
      "┊ The user wants a change.",
      "┊ thought for 0.4 s",
      "",
      "I'll read it.",
      "",
      "● Read a.txt lines 3–4  2 lines",
      "",
      "Now the edit.",
      "",
      "● Edit a.txt  +1 −1",
      "  1   one",
      "  2 - two",
      "  2 + 2",
      "● Run npm test",
      "  │ 1 passing",
      "  └ exit 0",
      "",
      "Done.",
      "  12k in · 40 out · context 3 % of 200k",
    ]);
  });

  it("tells how it failed, and what was tried", () => {
    const error = {
      kind: "server",
      code: "unavailable",
      title: "Provider Error",
      detail: "503",
      retryable: true,
    } as const;
    expect(
      written([
        { type: "text", text: "Hal" },
        { type: "retry", attempt: 2, delayMs: 1100, from: "message", reason: "Connection lost." },
        { type: "restarted" },
        { type: "text", text: "Hello" },
        result({ outcome: "failed", error }),
      ]),
    ).toEqual([
      "Hal",
      "",
      "↻ Connection lost. Trying again in 1.1 s.",
      "↻ The answer begins anew:",
      "",
      "Hello",
      "",
      "✗ Provider Error",
      "  503",
      "  unavailable, may be tried again · request r",
    ]);
    expect(written([result({ outcome: "cancelled" })])).toEqual(["■ Stopped."]);
  });
});

describe("cards", () => {
  it("a command without streamed output shows what its result holds, cut", () => {
    const stdout = Array.from({ length: 20 }, (_, line) => `line ${line}`).join("\n");
    const rows = written(card("shell", { command: "x" }, { stdout, exitCode: 3 }, "failure"));
    expect(rows.slice(0, 3)).toEqual(["● Run x", "  │ line 0", "  │ line 1"]);
    expect(rows.slice(-2)).toEqual(["  │ … 8 more rows", "  └ exit 3"]);
  });

  it("much output is cut and counted", () => {
    const rows = written([
      { type: "tool.started", ...view("shell", { command: "seq 100" }) },
      {
        type: "tool.output",
        callId: "c1",
        stream: "stdout",
        text: Array.from({ length: 100 }, (_, n) => `${n}\n`).join(""),
      },
      { type: "tool.completed", ...view("shell", { command: "seq 100" }, {}) },
    ]);
    expect(rows).toHaveLength(62);
    expect(rows.at(-1)).toBe("  └ 40 more rows · exit 0");
  });

  it("outputs of two commands at once stand under their own heads", () => {
    const shell = (callId: string, command: string) => ({ ...view("shell", { command }), callId });
    const rows = written([
      { type: "tool.started", ...shell("a", "one") },
      { type: "tool.started", ...shell("b", "two") },
      { type: "tool.output", callId: "a", stream: "stdout", text: "A\n" },
      { type: "tool.output", callId: "b", stream: "stderr", text: "B" },
      { type: "tool.output", callId: "a", stream: "stdout", text: "AA\n" },
    ]);
    expect(rows).toEqual(["● Run one", "● Run two", "● Run one", "  │ A", "● Run two", "  │ B", "● Run one", "  │ AA"]);
  });

  it("on a terminal the status says what goes on, and the row under way is shown", () => {
    const sheet = new Sheet(true);
    written([{ type: "tool.started", ...view("shell", { command: "npm test" }) }], sheet);
    expect([sheet.rows, sheet.going]).toEqual([[], "Run npm test"]);
    written(
      [
        { type: "tokens", output: 1500 },
        { type: "text", text: "Hello wor" },
      ],
      sheet,
    );
    expect([sheet.now, sheet.going]).toEqual(["Hello wor", "answering · 1.5k tokens"]);
  });

  it("a change that a question showed is not shown again", () => {
    const sheet = new Sheet();
    const transcript = new Transcript(sheet, styles, "/ws");
    transcript.changeShown("a.txt");
    const edit = { beforeFullFileContent: "", afterFullFileContent: "x\n", linesAdded: 1 };
    for (const event of card("edit", { path: "/ws/a.txt" }, edit)) transcript.event(event);
    expect(sheet.rows).toEqual(["● Edit a.txt  +1 −0"]);
  });

  it("what a file or a tool says cannot act on the terminal", () => {
    const rows = written([
      { type: "text", text: "\x1b[2Jgone\x07" },
      ...card("mcp", { name: "a\x1b[31m", args: {} }, { content: [{ text: { text: "\x1b]0;x\x07y" } }] }),
      ...card("read", { path: "/ws/\x1b[1mx\ny" }, { error: "no\x1b[0m" }, "error"),
      { type: "notice", text: "\x1b[5mnotice" },
      { type: "query", kind: "createPlan", outcome: "success", text: "plan \x1b[8mhidden" },
    ]);
    // oxlint-disable-next-line no-control-regex
    expect(rows.join("")).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  });
});

describe("what a card says", () => {
  it.each<[ToolView, string, string]>([
    [
      view(
        "grep",
        { pattern: "TODO", path: "/ws/src", glob: "*.ts" },
        { workspaceResults: { "/ws": { content: { totalMatchedLines: 3, matches: [{}, {}] } } } },
      ),
      'Search "TODO" in src (*.ts)',
      "3 matches in 2 files",
    ],
    [
      view("grep", { pattern: "x" }, { workspaceResults: { "/ws": { files: { totalFiles: 1 } } } }),
      'Search "x"',
      "1 file",
    ],
    [
      view("grep", { pattern: "x" }, { workspaceResults: { "/ws": { count: { totalFiles: 2, totalMatches: 5 } } } }),
      'Search "x"',
      "5 matches in 2 files",
    ],
    [view("glob", { globPattern: "**/*.md", targetDirectory: "/ws" }, { totalFiles: 4 }), "Find **/*.md", "4 files"],
    [view("ls", { path: "/ws" }, {}), "List .", ""],
    [view("read", { path: "/ws/a", offset: 5 }, { data: "", fileSize: 9 }), "Read a from line 5", "9 bytes"],
    [
      view("read", { path: "/else/a" }, { errorMessage: "File not found" }, "error"),
      "Read /else/a",
      "error: File not found",
    ],
    [view("delete", { path: "/ws/a" }, {}), "Delete a", "deleted"],
    [view("shell", { command: "a\n  b" }, { exitCode: 130, aborted: true }, "failure"), "Run a b", "stopped"],
    [view("shell", { command: "a" }, { shellId: 2 }), "Run a", "goes on in the background as shell 2"],
    [view("shell", { command: "a" }, { reason: "No." }, "rejected"), "Run a", "rejected: No."],
    [view("readLints", { paths: ["/ws/a", "b"] }, { totalDiagnostics: 1 }), "Check a, b", "1 problem"],
    [
      view("mcp", { name: "x-y", toolName: "y", args: { q: 1 } }, { isError: true }),
      'Call y {"q":1}',
      "the tool reports an error",
    ],
    [view("webSearch", { searchTerm: "x" }, { references: [{}] }), "Search the web x", "1 result"],
    [view("task", { description: "Find it" }, {}), "Subagent Find it", ""],
    [view("reflectOnIt", {}, { error: "E" }, "permissionDenied"), "Reflect on it", "permission denied: E"],
    [view("switchMode", { targetModeId: "plan" }), "Switch mode plan", ""],
  ])("%#", (tool, title, summary) => {
    const { verb, about } = titleOf(tool, "/ws");
    expect(`${verb} ${about}`.trim()).toBe(title);
    expect(summaryOf(tool)).toBe(summary);
  });

  it("to-dos are a list", () => {
    const todos = [
      { content: "one", status: "TODO_STATUS_COMPLETED" },
      { content: "two", status: "TODO_STATUS_IN_PROGRESS" },
      { content: "three" },
    ];
    expect(written(card("updateTodos", {}, { todos }))).toEqual([
      "● To do",
      "  │ [x] one",
      "  │ [>] two",
      "  │ [ ] three",
    ]);
  });
});

describe("small things", () => {
  it("counts and times", () => {
    expect([999, 1000, 1234, 12_345, 999_999, 1_500_000].map(short)).toEqual([
      "999",
      "1k",
      "1.2k",
      "12k",
      "1M",
      "1.5M",
    ]);
    expect([420, 9_999, 12_000, 125_000].map(seconds)).toEqual(["0.4 s", "10.0 s", "12 s", "2 min 5 s"]);
    expect(usageRow({}, undefined)).toBe("");
    expect(usageRow({ inputTokens: 5, cacheReadTokens: 3, reasoningTokens: 2 }, { used: 0, max: 0 })).toBe(
      "5 in · 3 from cache · 2 thinking",
    );
  });

  it("questions show what they are about", () => {
    expect(approvalRows({ kind: "delete", path: "a" }, styles, 80)).toEqual(["? Delete a"]);
    expect(approvalRows({ kind: "write", path: "a", before: undefined, after: "x\n" }, styles, 80)).toEqual([
      "? Create a  +1 −0",
      "  1 + x",
    ]);
    expect(approvalRows({ kind: "mcp", server: "s", tool: "t", args: '{"a":1}' }, styles, 80)).toEqual([
      "? Call t of s",
      '  {"a":1}',
    ]);
    expect(approvalRows({ kind: "server", what: "web search", detail: "x" }, styles, 80)).toEqual([
      "? Allow web search: x",
    ]);
    const long = {
      kind: "command",
      command: `a\n${"b".repeat(90)}`,
      cwd: "",
      description: "",
      background: true,
    } as const;
    expect(approvalRows(long, styles, 80)).toEqual([
      "? Run in the background",
      "  $ a",
      `    ${"b".repeat(76)}`,
      "b".repeat(14),
    ]);
  });

  it("an error without details is short", () => {
    const error = { kind: "lost", code: "unavailable", title: "Lost", detail: "", retryable: false } as const;
    expect(
      resultRows(
        { outcome: "failed", conversation: "", requestId: "r", attempts: 1, text: "", usage: {}, unsent: [], error },
        styles,
      ),
    ).toEqual(["✗ Lost", "  unavailable · request r"]);
  });

  it("colours only where they are wanted", () => {
    expect(stylesFor(true).red("x")).toBe("\x1b[31mx\x1b[39m");
    expect(stylesFor(false).red("x")).toBe("x");
  });
});
