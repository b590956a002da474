import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import type { McpToolOffer } from "@chartroom/domain";
import { SEARCH } from "../../test/support.ts";
import { nameOffers } from "./names.ts";

const offer = (name: string): McpToolOffer => ({ ...SEARCH, name });
const names = (offered: readonly string[], taken: readonly string[] = []) =>
  [...nameOffers(offered.map(offer), new Set(taken))].map(([name, { name: original }]) => [name, original]);

describe("nameOffers", () => {
  it("keeps a name that every vendor takes", () => {
    expect(names(["tracker-search", "mcp_1", "_x"])).toEqual([
      ["_x", "_x"],
      ["mcp_1", "mcp_1"],
      ["tracker-search", "tracker-search"],
    ]);
  });

  it("makes a name of one that vendors refuse, always the same", () => {
    expect(names(["my tool.v2"])).toEqual([["my_tool_v2_70719d5d", "my tool.v2"]]);
    expect(names(["42"])[0]?.[0]).toMatch(/^_42_[0-9a-f]{8}$/);
    expect(names(["werkzeug für alles"])[0]?.[0]).toMatch(/^werkzeug_f_r_alles_[0-9a-f]{8}$/);
    expect(names(["x".repeat(200)])[0]?.[0]).toHaveLength(64);
  });

  it("keeps names apart that would become the same, and apart from native ones", () => {
    const made = names(["a.b", "a b", "Read"], ["Read"]).map(([name]) => name);
    expect(new Set(made).size).toBe(3);
    expect(made).not.toContain("Read");
  });

  it("counts a name that comes twice once: the first", () => {
    const first = { ...SEARCH, description: "first" };
    const found = nameOffers([first, { ...SEARCH, description: "second" }], new Set());
    expect([...found.values()]).toEqual([first]);
  });

  test.prop([
    fc.array(fc.oneof(fc.string({ unit: "binary", minLength: 1 }), fc.stringMatching(/^[a-z.]{1,3}$/)), {
      maxLength: 12,
    }),
  ])("every offer gets its own name that vendors take, whatever the order", (offered) => {
    const unique = [...new Set(offered)];
    const found = names(offered, ["Read"]);
    expect(new Set(found.map(([, original]) => original))).toEqual(new Set(offered));
    expect(found).toHaveLength(unique.length);
    expect(new Set(found.map(([name]) => name)).size).toBe(unique.length);
    for (const [name] of found) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    expect(names(offered.toReversed(), ["Read"])).toEqual(found);
  });
});
