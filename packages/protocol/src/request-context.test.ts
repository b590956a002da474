import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { RequestContext } from "@chartroom/domain";
import {
  RequestContextMcpsPartSchema,
  RequestContextPartReferencesSchema,
  RequestContextRulesPartSchema,
  RequestContextSchema,
  RequestContextSkillsPartSchema,
  RequestContextSubagentsPartSchema,
} from "@chartroom/protocols/agent/v1/request_context";
import { SelectedContextSchema } from "@chartroom/protocols/agent/v1/selected_context";
import { LsDirectoryTreeNodeSchema } from "@chartroom/protocols/agent/v1/workspace";
import { describe, expect, it } from "vitest";
import { attachments } from "./attachment.ts";
import { blobId, blobIdBytes } from "./blob.ts";
import { contextOf } from "./context-parts.ts";
import { directoryTree } from "./directory-tree.ts";
import { jsonToValue } from "./json-value.ts";
import { mcpOffers } from "./mcp-offer.ts";
import { fromWireContext } from "./request-context.ts";

const context = (init: MessageInitShape<typeof RequestContextSchema>): RequestContext =>
  fromWireContext(create(RequestContextSchema, init));

describe("fromWireContext", () => {
  it("reads an empty context", () => {
    expect(context({})).toEqual({
      rules: [],
      repositories: [],
      skills: [],
      subagents: [],
      mcpServers: [],
      tools: [],
      projectLayouts: [],
      adminCommandDenylist: [],
    });
  });

  it("reads the environment, repositories, switches and texts", () => {
    const env = {
      osVersion: "linux 6.1",
      shell: "/bin/bash",
      workspacePaths: ["/ws"],
      timeZone: "UTC",
      projectFolder: "/ws",
      terminalsFolder: "/t",
      sandboxEnabled: true,
    };
    expect(
      context({
        env,
        gitRepos: [{ path: "/ws", branchName: "main", status: "clean", remoteUrl: "git@host:x" }, { path: "/y" }],
        cloudRule: "rule",
        hooksAdditionalContext: "hook",
        readLintsEnabled: true,
        webSearchEnabled: false,
        adminCommandDenylist: ["rm"],
      }),
    ).toMatchObject({
      env,
      repositories: [
        { path: "/ws", branch: "main", status: "clean", remote: "git@host:x" },
        { path: "/y", branch: "", status: "" },
      ],
      cloudRule: "rule",
      hooksContext: "hook",
      readLintsEnabled: true,
      webSearchEnabled: false,
      adminCommandDenylist: ["rm"],
    });
  });

  it("reads rules of every kind once, those without a file as well", () => {
    const always = { fullPath: "/a", content: "A", type: { type: { case: "global", value: {} } } } as const;
    expect(
      context({
        rules: [
          always,
          always,
          { fullPath: "/b", content: "B", type: { type: { case: "fileGlobbed", value: { globs: ["*.ts"] } } } },
          { fullPath: "/c", content: "C", type: { type: { case: "agentFetched", value: { description: "when" } } } },
          { fullPath: "/d", content: "D", type: { type: { case: "manuallyAttached", value: {} } } },
        ],
        nonFileRules: [{ content: "E" }],
      }).rules,
    ).toEqual([
      { path: "/a", content: "A", kind: "always", globs: [], description: "" },
      { path: "/b", content: "B", kind: "glob", globs: ["*.ts"], description: "" },
      { path: "/c", content: "C", kind: "agent", globs: [], description: "when" },
      { path: "/d", content: "D", kind: "manual", globs: [], description: "" },
      { path: "", content: "E", kind: "always", globs: [], description: "" },
    ]);
  });

  it("reads skills from files and descriptors once, without those the model may not invoke", () => {
    expect(
      context({
        agentSkills: [
          { fullPath: "/s/review/SKILL.md", description: "reviews" },
          { fullPath: "/s/deploy.md", description: "deploys" },
          { fullPath: "/s/x/SKILL.md", disableModelInvocation: true },
        ],
        skillOptions: {
          skillDescriptors: [
            { name: "review", readmeFilePath: "/s/review/SKILL.md", enabled: true },
            { name: "lint", description: "lints", folderPath: "/s/lint", enabled: true },
            { name: "off", folderPath: "/s/off", enabled: false },
          ],
        },
      }).skills,
    ).toEqual([
      { name: "review", description: "reviews", path: "/s/review/SKILL.md" },
      { name: "deploy", description: "deploys", path: "/s/deploy.md" },
      { name: "lint", description: "lints", path: "/s/lint" },
    ]);
  });

  it("reads the instructions of servers from wherever they are", () => {
    expect(
      context({
        mcpInstructions: [{ serverName: "a", instructions: "A" }, { serverName: "empty" }],
        mcpFileSystemOptions: { mcpDescriptors: [{ serverName: "a", serverUseInstructions: "again" }] },
        mcpMetaToolOptions: { mcpDescriptors: [{ serverName: "b", serverUseInstructions: "B" }, { serverName: "c" }] },
        customSubagents: [{ name: "tester", description: "tests", prompt: "p" }, { name: "tester" }],
      }),
    ).toMatchObject({
      mcpServers: [
        { name: "a", instructions: "A" },
        { name: "b", instructions: "B" },
      ],
      subagents: [{ name: "tester", description: "tests" }],
    });
  });
});

describe("directoryTree", () => {
  it("draws names by depth, and says what was not walked", () => {
    const root = create(LsDirectoryTreeNodeSchema, {
      absPath: "/ws",
      childrenWereProcessed: true,
      childrenDirs: [
        { absPath: "/ws/src", childrenWereProcessed: true, childrenFiles: [{ name: "a.ts" }] },
        { absPath: "C:\\ws\\big", numFiles: 7, fullSubtreeExtensionCounts: { ".ts": 2, md: 4, js: 2 } },
      ],
      childrenFiles: [{ name: "README.md" }],
    });
    expect(directoryTree(root)).toBe(
      ["src/", "  a.ts", "big/", "  [7 files in subtree, 4 *.md, 2 *.ts, 2 *.js]", "README.md"].join("\n"),
    );
  });
});

describe("mcpOffers", () => {
  const schema = { type: "object", properties: { q: { type: "string" } } } as const;
  const base = { $typeName: "agent.v1.McpToolDefinition", description: "", providerIdentifier: "p" } as const;

  it.each([
    ["a value", { inputSchema: jsonToValue(schema) }, schema],
    ["JSON text in a value", { inputSchema: jsonToValue(JSON.stringify(schema)) }, schema],
    ["JSON text of its own", { inputSchemaJson: JSON.stringify(schema) }, schema],
    ["nothing", {}, { type: "object", properties: {} }],
    ["no object", { inputSchema: jsonToValue([1]), inputSchemaJson: "{" }, { type: "object", properties: {} }],
  ])("reads a schema that is %s", (_, given, expected) => {
    expect(mcpOffers([{ ...base, name: "n", toolName: "t", ...given }])[0]?.inputSchema).toEqual(expected);
  });

  it("names a tool by what is there, and leaves out one without a name", () => {
    expect(
      mcpOffers([
        { ...base, name: "", toolName: "t" },
        { ...base, name: "n", toolName: "" },
        { ...base, name: "", toolName: "" },
      ]),
    ).toMatchObject([
      { name: "t", toolName: "t" },
      { name: "n", toolName: "n" },
    ]);
  });
});

describe("contextOf", () => {
  const rules = toBinary(
    RequestContextRulesPartSchema,
    create(RequestContextRulesPartSchema, { rules: [{ content: "R" }], cloudRule: "c" }),
  );
  const skills = toBinary(
    RequestContextSkillsPartSchema,
    create(RequestContextSkillsPartSchema, { agentSkills: [{ fullPath: "/s/a/SKILL.md" }] }),
  );
  const mcps = toBinary(
    RequestContextMcpsPartSchema,
    create(RequestContextMcpsPartSchema, { tools: [{ name: "tool" }] }),
  );
  const subagents = toBinary(
    RequestContextSubagentsPartSchema,
    create(RequestContextSubagentsPartSchema, { customSubagents: [{ name: "s" }] }),
  );
  const id = (data: Uint8Array): Uint8Array => blobIdBytes(blobId(data));
  const references = create(RequestContextPartReferencesSchema, {
    rulesBlobId: id(rules),
    rulesByteLength: rules.byteLength,
    skillsBlobId: id(skills),
    skillsByteLength: skills.byteLength,
    subagentsBlobId: id(subagents),
    subagentsByteLength: subagents.byteLength,
    mcpsBlobId: id(mcps),
    mcpsByteLength: mcps.byteLength,
    dynamicContext: { env: { shell: "sh" } },
  });
  const prefetched = [rules, skills, subagents, mcps].map((data) => ({ id: blobId(data), data }));

  it("puts parts together whose blobs came along", () => {
    expect(contextOf(undefined, references, prefetched)).toMatchObject({
      env: { shell: "sh" },
      rules: [{ content: "R" }],
      cloudRule: "c",
      skills: [{ name: "a" }],
      subagents: [{ name: "s" }],
      tools: [{ name: "tool" }],
    });
  });

  it("gives none when a part is missing, so that the whole is asked for", () => {
    expect(contextOf(undefined, references, prefetched.slice(1))).toBeUndefined();
    expect(contextOf(undefined, undefined, prefetched)).toBeUndefined();
  });

  it("takes a part that the client does not have as empty, and a whole context as it is", () => {
    const few = create(RequestContextPartReferencesSchema, {
      rulesBlobId: id(rules),
      rulesByteLength: rules.byteLength,
    });
    expect(contextOf(undefined, few, prefetched)).toMatchObject({ rules: [{ content: "R" }], skills: [] });
    expect(contextOf(create(RequestContextSchema, { cloudRule: "whole" }), references, prefetched)).toMatchObject({
      cloudRule: "whole",
      rules: [],
    });
  });
});

describe("attachments", () => {
  const of = (init: MessageInitShape<typeof SelectedContextSchema>) => attachments(create(SelectedContextSchema, init));

  it("are none without a selection", () => {
    expect(attachments(undefined)).toEqual([]);
    expect(of({})).toEqual([]);
  });

  it("hold images by bytes or by blob id", () => {
    const data = Buffer.from("png");
    const stored = Buffer.alloc(32, 1);
    expect(
      of({
        selectedImages: [
          { dataOrBlobId: { case: "data", value: data }, path: "/a.png", mimeType: "image/webp" },
          { dataOrBlobId: { case: "blobId", value: stored } },
          { dataOrBlobId: { case: "blobId", value: data } },
          { dataOrBlobId: { case: "blobIdWithData", value: { blobId: stored, data } } },
          { dataOrBlobId: { case: "blobIdWithData", value: { blobId: stored } } },
          { dataOrBlobId: { case: "data", value: new Uint8Array() } },
          {},
        ],
      }),
    ).toEqual([
      { type: "image", blob: blobId(data), data, mimeType: "image/webp", name: "/a.png" },
      { type: "image", blob: "01".repeat(32), mimeType: "image/png" },
      { type: "image", blob: blobId(data), data, mimeType: "image/png" },
      { type: "image", blob: blobId(data), data, mimeType: "image/png" },
      { type: "image", blob: "01".repeat(32), mimeType: "image/png" },
    ]);
  });

  it("hold files and selections", () => {
    expect(
      of({
        files: [{ path: "/a.ts", content: "a" }],
        codeSelections: [
          { path: "/b.ts", content: "b", range: { start: { line: 3 }, end: { line: 5 } } },
          { path: "/c.ts", content: "c" },
        ],
      }),
    ).toEqual([
      { type: "file", path: "/a.ts", content: "a" },
      { type: "selection", path: "/b.ts", content: "b", startLine: 3, endLine: 5 },
      { type: "selection", path: "/c.ts", content: "c", startLine: 0, endLine: 0 },
    ]);
  });

  it("hold the rest as labelled notes, without empty ones", () => {
    expect(
      of({
        folders: [{ path: "/ws", directoryTree: { childrenFiles: [{ name: "a" }] } }, { path: "/x" }],
        terminals: [{ title: "zsh", content: "$ ls" }],
        externalLinks: [{ url: "https://example.org" }],
        cursorCommands: [{ name: "fix", content: "Fix it." }],
        gitDiff: { content: "+a" },
        pastChats: [{ name: "yesterday" }],
        consoleLogs: [{ level: "error", message: "boom", stackTrace: { rawStackTrace: "at x" } }],
        extraContext: ["more", ""],
        extraContextEntries: [{ dataOrBlobId: { case: "data", value: "and more" } }],
        invocationContext: { data: { case: "ideState", value: { visibleFiles: [{ path: "/a" }, { path: "/b" }] } } },
      }),
    ).toEqual(
      [
        ["Folder /ws", "a"],
        ["Folder /x", "/x"],
        ["Terminal zsh", "$ ls"],
        ["Link https://example.org", "https://example.org"],
        ["Command fix", "Fix it."],
        ["Console", "error: boom\nat x"],
        ["Changes in the working tree", "+a"],
        ["Earlier chat", "yesterday"],
        ["Files open in the editor", "/a\n/b"],
        ["Context", "more"],
        ["Context", "and more"],
      ].map(([label, content]) => ({ type: "note", label, content })),
    );
  });
});
