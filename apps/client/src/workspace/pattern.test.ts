import { describe, expect, it } from "vitest";
import { compilePattern } from "./pattern.ts";

const plain = { caseInsensitive: false, multiline: false };

function matches(source: string, text: string, options = plain): boolean {
  const pattern = compilePattern(source, options);
  if (!pattern.ok) throw new Error(pattern.error);
  return text.search(pattern.regex) >= 0;
}

describe("what ripgrep writes differently", () => {
  it.each([
    ["(?i)todo", "TODO: x", "done"],
    ["(?P<word>fo+)bar", "foobar", "fbar"],
    ["[[:digit:]]+px", "12px", "px"],
    ["[^[:space:]]x", "ax", " x"],
    ["\\Aimport", "import a", "an import"],
    ["end\\z", "the end", "ends"],
    ["\\<is\\>", "this is it", "thistle"],
    ["a\\-b", "a-b", "ab"],
    ['say \\"hi\\"', 'say "hi"', "say hi"],
    ["[a\\-z]+!", "a-z!", "b!"],
    ["\\p{Lu}ser", "User", "user"],
    ["interface{}", "interface{}", "interface"],
    ["foo\\(", "foo(", "foo"],
    ["[]x]y", "]y", "ay"],
    ["[^]x]y", "ay", "]y"],
    ["[\\[]a]", "[a]", "a]"],
  ])("%s", (source, yes, no) => {
    expect(matches(source, yes)).toBe(true);
    expect(matches(source, no)).toBe(false);
  });
});

it("options: letters' case, and lines", () => {
  expect(matches("todo", "TODO", { ...plain, caseInsensitive: true })).toBe(true);
  expect(matches("a.b", "a\nb")).toBe(false);
  expect(matches("a.b", "a\nb", { ...plain, multiline: true })).toBe(true);
  expect(matches("^b$", "a\nb\nc", { ...plain, multiline: true })).toBe(true);
});

it("a broken pattern is an error", () => {
  expect(compilePattern("foo(", plain)).toMatchObject({ ok: false, error: expect.stringContaining("Unterminated") });
});
