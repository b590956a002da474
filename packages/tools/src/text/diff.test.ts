import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { diffLines } from "./diff.ts";

describe("diffLines", () => {
  it("shows a change with three lines around it", () => {
    const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    expect(diffLines(before, before.replace("5", "five"))).toEqual({
      added: 1,
      removed: 1,
      firstLine: 5,
      unified: "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
    });
  });

  it("keeps changes that are far from each other apart, and near ones together", () => {
    const lines = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`);
    const changed = (places: readonly number[]) =>
      lines.map((line, index) => (places.includes(index + 1) ? `x${line}` : line)).join("");
    const hunks = (places: readonly number[]) =>
      diffLines(lines.join(""), changed(places)).unified.match(/^@@/gm)?.length;
    expect(hunks([5, 25])).toBe(2);
    expect(hunks([5, 11])).toBe(1);
    expect(hunks([5, 12])).toBe(2);
  });

  it("knows a new file, an emptied file and a missing line end", () => {
    expect(diffLines("", "a\n").unified).toBe("@@ -0,0 +1 @@\n+a\n");
    expect(diffLines("a\nb\n", "").unified).toBe("@@ -1,2 +0,0 @@\n-a\n-b\n");
    expect(diffLines("a", "a\n").unified).toBe("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
  });

  it("has nothing to show for equal texts", () => {
    expect(diffLines("a\nb", "a\nb")).toEqual({ added: 0, removed: 0, firstLine: 0, unified: "" });
  });

  it("stays quick where nothing of a large text is the same", () => {
    const text = (mark: string) => Array.from({ length: 5000 }, (_, index) => `${mark}${index}\n`).join("");
    expect(diffLines(text("a"), text("b"))).toMatchObject({ added: 5000, removed: 5000 });
  });

  const lines = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "\n"), { maxLength: 30 }).map((all) => all.join(""));
  test.prop([lines, lines, fc.boolean()])("the hunks applied to the one text give the other", (before, after, cut) => {
    const target = cut ? after.replace(/\n$/, "") : after;
    const { unified, added, removed } = diffLines(before, target);
    expect(apply(before, unified)).toBe(target);
    expect(unified.match(/^\+/gm)?.length ?? 0).toBe(added);
    expect(unified.match(/^-/gm)?.length ?? 0).toBe(removed);
  });
});

/** Applies a unified diff, checking what it says about the old text. */
function apply(before: string, unified: string): string {
  const old = before === "" ? [] : before.split(/(?<=\n)/);
  const result: string[] = [];
  let at = 0;
  for (const hunk of unified.split(/^(?=@@ )/m).filter((part) => part !== "")) {
    const [head = "", ...lines] = hunk.split(/(?<=\n)/);
    const [, from = "0", count = "1"] = /^@@ -(\d+)(?:,(\d+))? /.exec(head) ?? [];
    const start = count === "0" ? Number(from) : Number(from) - 1;
    result.push(...old.slice(at, start));
    at = start;
    for (const [index, line] of lines.entries()) {
      if (line.startsWith("\\")) continue;
      const text = lines[index + 1]?.startsWith("\\") === true ? line.slice(1, -1) : line.slice(1);
      if (line.startsWith("+")) result.push(text);
      else {
        expect(old[at]).toBe(text);
        at += 1;
        if (line.startsWith(" ")) result.push(text);
      }
    }
  }
  return [...result, ...old.slice(at)].join("");
}
