import { describe, expect, it } from "vitest";
import { callId, toolName, toolNames } from "./wire-name.ts";

describe("names on the wire", () => {
  it("leaves a name that every vendor takes", () => {
    expect(toolName("mcp_server-search_2")).toBe("mcp_server-search_2");
    expect(callId("toolu_01A")).toBe("toolu_01A");
  });

  it("gives another name a form of its own, always the same", () => {
    const names = ["a.b", "a/b", "a b", "", "ä", "x".repeat(65)];
    const wire = names.map(toolName);
    expect(wire.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true);
    expect(new Set(wire).size).toBe(names.length);
    expect(names.map(toolName)).toEqual(wire);
    expect(wire[0]).toMatch(/^a_b_[0-9a-f]{8}$/);
    expect(callId("functions.Shell:0".repeat(5))).toMatch(/^[a-zA-Z0-9_-]{40}$/);
  });

  it("finds the tool's own name again", () => {
    const back = toolNames([{ name: "a.b" }, { name: "Read" }]);
    expect(back(toolName("a.b"))).toBe("a.b");
    expect(back("Read")).toBe("Read");
    expect(back("Unknown")).toBe("Unknown");
  });
});
