import type { AgentMode, BlobId, RequestContext } from "@chartroom/domain";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  cleanTitle,
  compactionPrompt,
  completionText,
  contextSections,
  injectionParts,
  planText,
  summaryText,
  systemPrompt,
  titlePrompt,
  turnText,
  userParts,
} from "./index.ts";

const TOOLS = ["Read", "Write", "StrReplace", "Delete", "Grep", "Glob", "Shell", "ReadLints"];
const MODES: readonly AgentMode[] = ["agent", "ask", "plan", "debug", "triage", "project", "multitask", "custom"];

describe("the system text", () => {
  test.each(MODES)("%s: the same bytes for the same set of tools, in any order, however often named", (mode) => {
    const text = systemPrompt({ mode, toolNames: TOOLS });
    fc.assert(
      fc.property(fc.shuffledSubarray(TOOLS, { minLength: TOOLS.length }), (toolNames) => {
        expect(systemPrompt({ mode, toolNames: [...toolNames, ...toolNames] })).toBe(text);
      }),
      { numRuns: 20 },
    );
  });

  test("holds no date, git state or model name", () => {
    const all = MODES.map((mode) => systemPrompt({ mode, toolNames: TOOLS })).join("\n");
    expect(all).not.toMatch(/\b20\d\d\b|claude|gpt|gemini|today|commit [0-9a-f]{7}/iu);
    expect(all.isWellFormed()).toBe(true);
  });

  test("speaks only of tools that are offered", () => {
    const text = systemPrompt({ mode: "agent", toolNames: ["Read", "tracker-search"] });
    expect(text).toContain("`Read`");
    for (const name of TOOLS.filter((tool) => tool !== "Read")) expect(text).not.toContain(`\`${name}\``);
    expect(systemPrompt({ mode: "agent", toolNames: [] })).toContain("no tools");
  });

  test.each<AgentMode>(["ask", "plan"])("%s mode changes nothing, and does not explain how to", (mode) => {
    const text = systemPrompt({ mode, toolNames: TOOLS });
    expect(text).toContain("change nothing");
    expect(text).not.toContain("`StrReplace`");
    expect(text).not.toContain("`Write`");
  });

  test("a client's texts come last, each once", () => {
    const text = systemPrompt({
      mode: "agent",
      toolNames: TOOLS,
      custom: ["Speak French.", " Speak French. ", "", "Be kind."],
    });
    expect(text.endsWith("Speak French.\n\nBe kind.")).toBe(true);
    expect(systemPrompt({ mode: "agent", toolNames: TOOLS, custom: "" })).toBe(
      systemPrompt({ mode: "agent", toolNames: TOOLS }),
    );
    expect(text.startsWith(systemPrompt({ mode: "agent", toolNames: TOOLS }))).toBe(true);
  });
});

const CONTEXT: RequestContext = {
  env: {
    osVersion: "linux 6.1",
    shell: "/bin/bash",
    workspacePaths: ["/ws/b", "/ws/a"],
    timeZone: "UTC",
    projectFolder: "/ws",
    terminalsFolder: "",
    sandboxEnabled: false,
  },
  rules: [
    { path: "b.mdc", content: "Use tabs.\n", kind: "always", globs: [], description: "" },
    { path: "a.mdc", content: "long", kind: "glob", globs: ["*.ts", "*.js"], description: "For\nscripts" },
  ],
  repositories: [{ path: "/ws/a", branch: "main", status: " M a.ts\n" }],
  skills: [
    { name: "deploy", description: "How to deploy", path: "/s/deploy" },
    { name: "build", description: "How to build", path: "/s/build" },
  ],
  subagents: [{ name: "explore", description: "Looks" }],
  mcpServers: [{ name: "tracker", instructions: "Search first." }],
  tools: [],
  projectLayouts: [{ root: "/ws/a", tree: "a.ts\nb.ts\n" }],
  cloudRule: "Always test.",
  hooksContext: "hook says",
  adminCommandDenylist: ["rm -rf", "curl"],
};

describe("the request context", () => {
  test("is rendered in sections, each with its name around it", () => {
    const sections = contextSections(CONTEXT, { date: "2026-11-30" });
    expect(sections.map((section) => section.name)).toEqual([
      "rules",
      "cloud_rule",
      "skills",
      "subagents",
      "mcp",
      "denied_commands",
      "hooks",
      "environment",
      "project_layout",
      "git",
      "date",
    ]);
    for (const { name, text } of sections) {
      expect(text.startsWith(`<${name}>\n`)).toBe(true);
      expect(text.endsWith(`\n</${name}>`)).toBe(true);
    }
    expect(sections.map((section) => section.text).join("\n")).toMatchInlineSnapshot(`
      "<rules>
      These apply to everything you do:
      <rule path="b.mdc">
      Use tabs.
      </rule>
      Read one of these when what you work on is what it is for:
      - a.mdc (for *.js, *.ts): For scripts
      </rules>
      <cloud_rule>
      Always test.
      </cloud_rule>
      <skills>
      - build (/s/build): How to build
      - deploy (/s/deploy): How to deploy
      </skills>
      <subagents>
      - explore: Looks
      </subagents>
      <mcp>
      - tracker:
      Search first.
      </mcp>
      <denied_commands>
      The administrator does not allow these commands:
      - curl
      - rm -rf
      </denied_commands>
      <hooks>
      hook says
      </hooks>
      <environment>
      Operating system: linux 6.1
      Shell: /bin/bash
      Workspace folders: /ws/a, /ws/b
      Project folder: /ws
      Time zone: UTC
      </environment>
      <project_layout>
      /ws/a
      a.ts
      b.ts
      </project_layout>
      <git>
      Repository: /ws/a
      Branch: main
      Status: 
       M a.ts
      </git>
      <date>
      2026-11-30
      </date>"
    `);
  });

  test("does not depend on the order in which a client lists things", () => {
    const turned: RequestContext = {
      ...CONTEXT,
      rules: CONTEXT.rules.toReversed(),
      skills: CONTEXT.skills.toReversed(),
      adminCommandDenylist: CONTEXT.adminCommandDenylist.toReversed(),
      env: { ...CONTEXT.env!, workspacePaths: CONTEXT.env!.workspacePaths.toReversed() },
    };
    expect(contextSections(turned)).toEqual(contextSections(CONTEXT));
  });

  test("nothing known is no section; a cloud rule that is in the system text already is left out", () => {
    const nothing: RequestContext = {
      rules: [],
      repositories: [],
      skills: [],
      subagents: [],
      mcpServers: [],
      tools: [],
      projectLayouts: [],
      adminCommandDenylist: [],
    };
    expect(contextSections(nothing)).toEqual([]);
    const names = contextSections(CONTEXT, { inSystem: ["Always test.\n"] }).map((section) => section.name);
    expect(names).not.toContain("cloud_rule");
  });
});

describe("messages", () => {
  test("a user's own words come last and unchanged, behind what is attached", () => {
    const blob = "ab".repeat(32) as BlobId;
    const made = userParts({
      text: "  look \n",
      attachments: [
        { type: "file", path: 'a"b.ts', content: "x" },
        { type: "image", blob, mimeType: "image/png" },
        { type: "selection", path: "c.ts", content: "y", startLine: 2, endLine: 3 },
        { type: "note", label: "terminal", content: "z" },
      ],
    });
    expect(made).toEqual([
      { type: "text", text: '<attached_file path="a&quot;b.ts">\nx\n</attached_file>' },
      { type: "image", blob, mimeType: "image/png" },
      { type: "text", text: '<attached_selection path="c.ts" lines="2-3">\ny\n</attached_selection>' },
      { type: "text", text: '<attached_note about="terminal">\nz\n</attached_note>' },
      { type: "text", text: "  look \n" },
    ]);
    expect(userParts({ text: "", attachments: [] }, "from a blob")).toEqual([{ type: "text", text: "from a blob" }]);
    expect(userParts({ text: "", attachments: [{ type: "image", blob, mimeType: "image/png" }] })).toHaveLength(1);
  });

  test("turn, completion, injection, plan", () => {
    expect(turnText({ mode: "plan", previousMode: "agent", time: "2026-11-30 23:59", remarks: ["Be quick."] })).toBe(
      "<turn>\nTime: 2026-11-30 23:59\nMode: plan\nThe user has switched from agent mode to plan mode.\nBe quick.\n</turn>",
    );
    expect(turnText({ mode: "agent", previousMode: "agent" })).toBe("<turn>\nMode: agent\n</turn>");
    const text = completionText({
      taskKind: "shell",
      status: "failed",
      taskId: "t1",
      title: "npm\ntest",
      detail: "exit 1",
      outputPath: "/o",
    });
    expect(text).toBe(
      '<background_task>\nThe background shell "npm test" (t1) has failed.\nIts output is in /o.\nexit 1\n</background_task>',
    );
    expect(injectionParts("hook", "stop")).toEqual([
      { type: "text", text: '<injected from="hook">\nstop\n</injected>' },
    ]);
    expect(planText("1. Do it\n", "/p.md")).toBe('<plan path="/p.md">\n1. Do it\n</plan>\n\nCarry out this plan.');
  });

  test("a summary keeps goal, plan and to-dos word for word", () => {
    const text = summaryText(" was long ", {
      goal: "win",
      plan: "1. go",
      todos: [{ content: "test", status: "pending" }],
    });
    expect(text).toContain("<summary>");
    expect(text).toContain("was long");
    expect(text).toContain("<goal>\nwin\n</goal>");
    expect(text).toContain("<plan>\n1. go\n</plan>");
    expect(text).toContain("- [pending] test");
    expect(summaryText("x")).not.toContain("<goal>");
    expect(compactionPrompt().instruction).toContain("## Open");
  });
});

describe("a title", () => {
  test("the prompt holds the message, shortened", () => {
    expect(titlePrompt("x".repeat(10_000)).user.length).toBeLessThan(4_100);
  });

  test.each([
    ['"Fix the login bug."', "Fix the login bug"],
    ["**Login bug**\n\nmore", "Login bug"],
    ["# Title", "Title"],
    ["", "do the thing"],
    ["\n \n", "do the thing"],
  ])("%j gives %j", (answer, title) => {
    expect(cleanTitle(answer, "do the thing")).toBe(title);
  });

  test("is never empty and never long", () => {
    expect(cleanTitle("", " ")).toBe("New conversation");
    const long = cleanTitle("word ".repeat(50), "");
    expect(long.length).toBeLessThanOrEqual(60);
    expect(long.endsWith("word…")).toBe(true);
  });
});
