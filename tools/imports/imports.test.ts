import path from "node:path";
import { describe, expect, it } from "vitest";
import { judge, RULES, type Rule, type Source } from "./judge.ts";
import { judgeManifest } from "./manifests.ts";
import { UNITS } from "./table.ts";
import { packageFolders, readSources } from "./tree.ts";

/** A violation of each kind, as it would be written; the offending line is the one that ends in `// here`. */
const PLANTED: readonly { readonly rule: Rule; readonly path: string; readonly text: string }[] = [
  { rule: "package-edge", path: "packages/run/src/a.ts", text: `import { x } from "@chartroom/store"; // here` },
  { rule: "package-edge", path: "packages/run/src/a.ts", text: `import type { X } from "@chartroom/store"; // here` },
  { rule: "package-edge", path: "packages/run/src/a.ts", text: `export * from "@chartroom/history"; // here` },
  { rule: "package-edge", path: "packages/run/src/a.ts", text: `export type { X } from "@chartroom/tools"; // here` },
  {
    rule: "package-edge",
    path: "packages/run/src/a.ts",
    text: `type T = import("@chartroom/gateway").Gateway; // here`,
  },
  {
    rule: "package-edge",
    path: "packages/tools/src/a.ts",
    text: `\n\nawait import("@chartroom/conversation"); // here`,
  },
  {
    rule: "package-edge",
    path: "packages/tools/src/a.ts",
    text: `import c = require("@chartroom/conversation"); // here`,
  },
  {
    rule: "package-edge",
    path: "packages/providers/src/openai/a.ts",
    text: `import { f } from "@chartroom/protocol"; // here`,
  },
  { rule: "package-edge", path: "packages/apis/src/a.ts", text: `import { g } from "@chartroom/gateway"; // here` },
  { rule: "package-edge", path: "packages/gateway/src/a.ts", text: `import { f } from "@chartroom/server"; // here` },
  {
    rule: "package-edge",
    path: "packages/history/src/a.test.ts",
    text: `import { s } from "@chartroom/store"; // here`,
  },
  {
    rule: "package-edge",
    path: "packages/tools/src/a.ts",
    text: `import { M } from "@chartroom/protocols/agent"; // here`,
  },
  { rule: "types-only", path: "machines/a.machine.ts", text: `import { x } from "@chartroom/domain"; // here` },
  { rule: "types-only", path: "machines/a.machine.ts", text: `import { type X } from "@chartroom/domain"; // here` },
  { rule: "types-only", path: "packages/prompting/src/a.ts", text: `import { h } from "@chartroom/history"; // here` },
  { rule: "types-only", path: "packages/providers/src/a.ts", text: `export { run } from "@chartroom/run"; // here` },
  { rule: "external-package", path: "packages/tools/src/a.ts", text: `import { z } from "zod"; // here` },
  { rule: "external-package", path: "packages/gateway/src/a.ts", text: `import pg from "postgres"; // here` },
  {
    rule: "external-package",
    path: "packages/providers/src/demo/a.ts",
    text: `import { c } from "@connectrpc/connect"; // here`,
  },
  { rule: "external-package", path: "packages/apis/src/a.ts", text: `import { h } from "hono-else/x"; // here` },
  { rule: "node-builtin", path: "packages/history/src/a.ts", text: `import fs from "node:fs"; // here` },
  { rule: "node-builtin", path: "packages/prompting/src/a.ts", text: `import { createHash } from "crypto"; // here` },
  { rule: "node-builtin", path: "packages/run/src/a.ts", text: `import type { Readable } from "node:stream"; // here` },
  { rule: "node-builtin", path: "machines/a.machine.ts", text: `import timers from "node:timers"; // here` },
  {
    rule: "node-builtin",
    path: "packages/domain/src/a.ts",
    text: `import type { Readable } from "node:stream"; // here`,
  },
  { rule: "ambient", path: "packages/run/src/a.ts", text: `const f = () =>\n  Date.now(); // here` },
  { rule: "ambient", path: "packages/run/src/a.ts", text: `const f = () => new Date(); // here` },
  { rule: "ambient", path: "packages/run/src/a.ts", text: `const f = () => globalThis.process.env["X"]; // here` },
  { rule: "ambient", path: "packages/history/src/a.ts", text: `const f = () => Math.random(); // here` },
  { rule: "ambient", path: "packages/history/src/a.ts", text: `setTimeout(f, 1); // here` },
  { rule: "ambient", path: "packages/prompting/src/a.ts", text: `const id = crypto.randomUUID(); // here` },
  { rule: "types-alone", path: "packages/domain/src/a.ts", text: `type A = 1;\nexport const a = 1; // here` },
  { rule: "types-alone", path: "packages/domain/src/a.ts", text: `export function f(): void {} // here` },
  {
    rule: "escaping-relative",
    path: "packages/run/src/a.ts",
    text: `import { x } from "../../store/src/x.ts"; // here`,
  },
  {
    rule: "escaping-relative",
    path: "packages/run/src/a.test.ts",
    text: `import { x } from "../../../test/support/x.ts"; // here`,
  },
  {
    rule: "escaping-relative",
    path: "apps/server/src/a.ts",
    text: `import { x } from "../../client/src/x.ts"; // here`,
  },
  {
    rule: "escaping-relative",
    path: "packages/tools/src/a.ts",
    text: `import { x } from "../../../tools/imports/scan.ts"; // here`,
  },
  {
    rule: "generated-code",
    path: "packages/protocol/src/a.ts",
    text: `import { x } from "../../../protocols/gen/agent.ts"; // here`,
  },
  {
    rule: "deep-import",
    path: "apps/server/src/a.ts",
    text: `import { x } from "@chartroom/store/src/schema.ts"; // here`,
  },
  {
    rule: "deep-import",
    path: "test/wire/a.test.ts",
    text: `import { x } from "@chartroom/gateway/src/face.ts"; // here`,
  },
  {
    rule: "deep-import",
    path: "packages/protocol/src/a.ts",
    text: `import { x } from "@chartroom/protocols/gen/agent.ts"; // here`,
  },
  { rule: "self-import", path: "packages/run/src/a.ts", text: `import { x } from "@chartroom/run"; // here` },
  {
    rule: "folder-door",
    path: "packages/providers/src/openai/a.ts",
    text: `import { x } from "../cursor/wire.ts"; // here`,
  },
  { rule: "test-import", path: "packages/run/src/a.ts", text: `import { x } from "./b.test.ts"; // here` },
  { rule: "test-import", path: "packages/run/src/a.ts", text: `import { it } from "vitest"; // here` },
  {
    rule: "test-import",
    path: "packages/run/src/a.ts",
    text: `import { x } from "@chartroom/test/support/x.ts"; // here`,
  },
  { rule: "unreadable", path: "packages/tools/src/a.ts", text: `const f = (name: string) => import(name); // here` },
  { rule: "unknown-package", path: "packages/run/src/a.ts", text: `import { x } from "@chartroom/nowhere"; // here` },
  { rule: "unknown-package", path: "packages/nowhere/src/a.ts", text: `const a = 1; // here` },
  { rule: "syntax", path: "packages/run/src/a.ts", text: `const = ; // here` },
];

describe("a planted violation", () => {
  it.each(PLANTED)("$rule in $path: $text", ({ rule, path: file, text }) => {
    const line = text.split("\n").findIndex((one) => one.endsWith("// here")) + 1;
    const found = judge([{ path: file, text }]).violations.map((one) => ({
      file: one.file,
      line: one.line,
      rule: one.rule,
    }));
    expect(found).toContainEqual({ file, line, rule });
    expect(new Set(found.map((one) => one.rule))).toEqual(new Set([rule]));
  });

  it("exists for every rule", () => {
    const planted = new Set<Rule>([...PLANTED.map(({ rule }) => rule), "nothing-parsed"]);
    expect([...planted].toSorted()).toEqual(Object.keys(RULES).toSorted());
  });
});

describe("what is allowed", () => {
  const ALLOWED: readonly Source[] = [
    {
      path: "packages/run/src/a.ts",
      text: `import type { Message } from "@chartroom/domain";\nimport { b } from "./b.ts";`,
    },
    {
      path: "machines/a.machine.ts",
      text: `import { setup } from "xstate";\nimport type { RunId } from "@chartroom/domain";`,
    },
    { path: "packages/prompting/src/a.ts", text: `import type { History } from "@chartroom/history";` },
    {
      path: "packages/providers/src/cursor/a.ts",
      text: `import { x } from "@chartroom/protocol";\nimport { c } from "@connectrpc/connect-node";\nimport { m } from "@chartroom/machines";`,
    },
    { path: "packages/providers/src/index.ts", text: `export { cursor } from "./cursor/index.ts";` },
    {
      path: "packages/apis/src/a.ts",
      text: `import { face } from "@chartroom/gateway/face";\nimport { stream } from "hono/streaming";`,
    },
    {
      path: "packages/protocol/src/a.ts",
      text: `import { A } from "@chartroom/protocols/agent";\nimport { B } from "@chartroom/protocols/agent/v1/run_request";`,
    },
    {
      path: "packages/store/src/a.ts",
      text: `import fs from "node:fs";\nimport { pgTable } from "drizzle-orm/pg-core";`,
    },
    {
      path: "packages/run/src/a.test.ts",
      text: `import fs from "node:fs";\nimport { it } from "vitest";\nimport { x } from "@chartroom/run";\nimport { d } from "@chartroom/test/support/database.ts";\nconst now = Date.now();`,
    },
    {
      path: "apps/server/src/chart/a.ts",
      text: `import layout from "@chartroom/machines/charts/conversation.layout.json" with { type: "json" };`,
    },
    { path: "packages/store/drizzle.config.ts", text: `import { defineConfig } from "drizzle-kit";` },
    {
      path: "test/wire/a.test.ts",
      text: `import { start } from "@chartroom/server";\nimport { x } from "../support/x.ts";\nimport net from "node:net";`,
    },
    {
      path: "packages/domain/src/index.ts",
      text: `declare const brand: unique symbol;\nexport * from "./ids.ts";\nexport type { A } from "./a.ts";\nexport interface B { readonly [brand]: 1 }`,
    },
    {
      path: "packages/history/src/a.ts",
      text: `const at = (ms: number) => new Date(ms);\nconst now = (clock: { now(): number }) => clock.now();`,
    },
  ];

  it.each(ALLOWED)("$path: $text", (source) => {
    expect(judge([source]).violations).toEqual([]);
  });
});

describe("the checker itself", () => {
  it("fails when it read no file", () => {
    expect(judge([]).violations.map(({ rule }) => rule)).toEqual(["nothing-parsed"]);
  });

  it("reads this workspace: every unit has files, and imports among them", () => {
    const sources = readSources(path.resolve(import.meta.dirname, "../.."));
    for (const { folder } of UNITS)
      expect(
        sources.some((source) => source.path.startsWith(`${folder}/`)),
        folder,
      ).toBe(true);
    expect(judge(sources).imports).toBeGreaterThan(100);
  });

  it("knows every package of this workspace, and only those", () => {
    const folders = packageFolders(path.resolve(import.meta.dirname, "../.."));
    expect(folders.toSorted()).toEqual(UNITS.map(({ folder }) => folder).toSorted());
  });
});

describe("a package.json", () => {
  const run = {
    name: "@chartroom/run",
    exports: { ".": "./src/index.ts" },
    dependencies: { "@chartroom/domain": "workspace:*" },
  };

  it("that follows the table passes", () => {
    expect(judgeManifest("packages/run", run)).toEqual([]);
  });

  it.each([
    ["a dependency that may not be imported", { ...run, dependencies: { "@chartroom/store": "workspace:*" } }],
    ["an npm package that may not be imported", { ...run, dependencies: { zod: "catalog:" } }],
    [
      "a workspace package among the development dependencies",
      { ...run, devDependencies: { "@chartroom/store": "workspace:*" } },
    ],
    ["a second door", { ...run, exports: { ...run.exports, "./inside": "./src/inside.ts" } }],
    ["no door", { ...run, exports: {} }],
    ["another name", { ...run, name: "@chartroom/runner" }],
  ])("with %s is reported", (_, manifest) => {
    expect(judgeManifest("packages/run", manifest)).toHaveLength(1);
  });
});
