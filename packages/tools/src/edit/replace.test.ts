import { describe, expect, it } from "vitest";
import { replaceText } from "./replace.ts";

const replace = (text: string, oldString: string, newString: string, all = false) =>
  replaceText(text, { oldString, newString, all });
const why = (result: ReturnType<typeof replaceText>) => (result.ok ? "" : result.why);

describe("replaceText", () => {
  it("replaces the one place", () => {
    expect(replace("let a = 1;\n", "a = 1", "a = 2")).toEqual({ ok: true, text: "let a = 2;\n", count: 1 });
  });

  it("takes dollar signs in the new text as they are", () => {
    expect(replace("x", "x", "$& $1 $$")).toEqual({ ok: true, text: "$& $1 $$", count: 1 });
  });

  it("refuses several places with their lines, and takes them all when asked", () => {
    expect(why(replace("a\nb\na\n", "a", "c"))).toBe(
      "old_string stands in 2 places (lines 1, 3). Give more of the text around the one that is meant, or set replace_all.",
    );
    expect(why(replace("a\n".repeat(9), "a", "c"))).toContain("9 places (lines 1, 2, 3, 4, 5, …)");
    expect(replace("a\nb\na\n", "a", "c", true)).toEqual({ ok: true, text: "c\nb\nc\n", count: 2 });
  });

  it("does not count places that overlap twice", () => {
    expect(replace("aaa", "aa", "b")).toEqual({ ok: true, text: "ba", count: 1 });
  });

  it("refuses what would change nothing, and an empty old text", () => {
    expect(why(replace("a", "a", "a"))).toContain("identical");
    expect(why(replace("a", "", "b"))).toContain("empty");
    expect(why(replace("a\r\n", "a\r\n", "a\n"))).toContain("nothing would change");
  });

  it("tells where the same lines stand with other white space", () => {
    expect(why(replace("x\n    if (a) {\n      b();\n", "if (a) {\n  b();", "c"))).toContain(
      "2 lines from line 2 differ from it only in white space",
    );
    expect(why(replace("x\n", "y", "z"))).toMatch(/not found.*included\.$/);
  });

  it("keeps the file's line ends, whichever the model wrote", () => {
    expect(replace("a\r\nb\r\nc\r\n", "a\nb", "x\ny")).toEqual({ ok: true, text: "x\r\ny\r\nc\r\n", count: 1 });
    expect(replace("a\nb\n", "a\r\nb", "x\r\ny")).toEqual({ ok: true, text: "x\ny\n", count: 1 });
    expect(replace("a\r\nb\r\n", "b", "x\ny")).toEqual({ ok: true, text: "a\r\nx\r\ny\r\n", count: 1 });
  });

  it("finds the passage in a file with both kinds of line ends", () => {
    expect(replace("a\r\nb\nc\nd\n", "a\nb", "x")).toEqual({ ok: true, text: "x\nc\nd\n", count: 1 });
  });
});
