import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AgentMode } from "@chartroom/domain";
import { context, scope, SEARCH, tools } from "../../test/support.ts";

const golden = (name: string) => readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), "utf8");
const bytes = (mode: AgentMode) => `${JSON.stringify(tools.catalogue(scope({ mode, offers: [SEARCH] })), null, 2)}\n`;
const names = (mode: AgentMode) => tools.catalogue(scope({ mode })).map(({ name }) => name);

describe("the catalogue", () => {
  // a change of these bytes costs every conversation its prompt cache once: make it on purpose
  it.each(["agent", "ask"] as const)("is byte for byte the golden one in %s mode", (mode) => {
    expect(bytes(mode)).toBe(golden(mode));
  });

  it("has all native tools in agent mode, and those that only read in ask mode", () => {
    expect(names("agent")).toEqual(["Shell", "Read", "Write", "StrReplace", "Delete", "Grep", "Glob", "ReadLints"]);
    expect(names("ask")).toEqual(["Read", "Grep", "Glob", "ReadLints"]);
    expect(names("plan")).toEqual(names("ask"));
    expect(names("debug")).toEqual(names("agent"));
  });

  it("has no linters where the client says that it has none", () => {
    const without = scope({ context: context({ readLintsEnabled: false }) });
    expect(tools.catalogue(without).map(({ name }) => name)).not.toContain("ReadLints");
    expect(tools.catalogue(scope({ context: context({ readLintsEnabled: true }) }))).toHaveLength(8);
  });

  it("lists the offers behind the native tools, by name, however the client sorts them", () => {
    const other = { ...SEARCH, name: "a-tool" };
    const one = tools.catalogue(scope({ mode: "ask", offers: [SEARCH, other] }));
    expect(one.map(({ name }) => name).slice(-2)).toEqual(["a-tool", "tracker-search"]);
    expect(JSON.stringify(tools.catalogue(scope({ mode: "ask", offers: [other, SEARCH, SEARCH] })))).toBe(
      JSON.stringify(one),
    );
  });

  it("passes a schema on, and makes an object schema of one that says nothing", () => {
    const schemaOf = (inputSchema: typeof SEARCH.inputSchema) =>
      tools.catalogue(scope({ offers: [{ ...SEARCH, inputSchema }] })).at(-1)?.inputSchema;
    expect(schemaOf(SEARCH.inputSchema)).toEqual(SEARCH.inputSchema);
    expect(schemaOf({ oneOf: [{ type: "object" }] })).toEqual({ oneOf: [{ type: "object" }] });
    expect(schemaOf({})).toEqual({ type: "object", properties: {} });
    expect(schemaOf({ properties: { a: {} }, description: "d" })).toEqual({
      properties: { a: {} },
      description: "d",
      type: "object",
    });
  });

  it("describes every tool and argument", () => {
    for (const { name, description, inputSchema } of tools.catalogue(scope())) {
      expect(description.length, name).toBeGreaterThan(40);
      for (const property of Object.values(inputSchema["properties"] as Record<string, { description?: string }>))
        expect(property.description, name).toMatch(/\.$/);
    }
  });
});

describe("the stored name", () => {
  it("is the tool's name in upper case, dynamic for what is offered", () => {
    const where = scope({ mode: "ask", offers: [SEARCH] });
    expect(tools.identifier(where, "Read")).toEqual({ toolIdentifier: "READ", dynamic: false });
    expect(tools.identifier(where, "StrReplace")).toEqual({ toolIdentifier: "STR_REPLACE", dynamic: false });
    expect(tools.identifier(where, "tracker-search")).toEqual({ toolIdentifier: "TRACKER_SEARCH", dynamic: true });
    expect(tools.identifier(where, "bash")).toEqual({ toolIdentifier: "BASH", dynamic: true });
  });
});
