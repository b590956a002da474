import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { diffLines } from "./diff.ts";
import { Flow, type Look } from "./flow.ts";
import { fitting, oneLine, sanitize, shorten, widthOf } from "./text.ts";

describe("sanitize", () => {
  it.each([
    ["\x1b[31mred\x1b[0m", "red"],
    ["\x1b]0;title\x07x", "x"],
    ["\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"],
    ["\x1b[2J\x1b[1;1Hgone", "gone"],
    ["a\x1b", "a"],
    ["a\x1b[", "a"],
    ["a\rb\r\nc", "a\nb\nc"],
    ["a\tb", "a  b"],
    ["a\x07\x08\x00b\x9b31m", "ab31m"],
    ["abc\u202Edef\u2066", "abcdef"],
    ["héllo 世界 😀\n", "héllo 世界 😀\n"],
  ])("%j", (text, clean) => expect(sanitize(text)).toBe(clean));

  it("leaves nothing that a terminal would act on", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        // oxlint-disable-next-line no-control-regex
        expect(sanitize(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
      }),
    );
  });

  it("oneLine", () => expect(oneLine(" a\n  b\r\nc ")).toBe("a b c"));
});

it("widths", () => {
  expect(widthOf("abc")).toBe(3);
  expect(widthOf("世界")).toBe(4);
  expect(widthOf("e\u0301")).toBe(1);
  expect(widthOf("😀")).toBe(2);
  expect(fitting("世界", 3)).toBe("世");
  expect(shorten("abcdef", 4)).toBe("abc…");
  expect(shorten("abcd", 4)).toBe("abcd");
});

describe("Flow", () => {
  const plain: Look = { prefix: "", paint: (text) => text };
  const quoted: Look = { prefix: "> ", paint: (text) => text };

  function flow(width: number, cutWords = true) {
    const rows: string[] = [];
    let partial: string | undefined;
    const output = {
      row: (row: string) => rows.push(row),
      partial: (row: string | undefined) => {
        partial = row;
      },
    };
    return { rows, partial: () => partial, flow: new Flow(output, () => width, cutWords) };
  }

  it("breaks between words, whatever the pieces", () => {
    const text = "The quick brown fox jumps over the lazy dog";
    const wanted = ["The quick brown", "fox jumps over", "the lazy dog"];
    for (let size = 1; size <= text.length; size++) {
      const { rows, flow: it } = flow(16);
      for (let at = 0; at < text.length; at += size) it.write(text.slice(at, at + size), plain);
      it.end();
      expect(rows).toEqual(wanted);
    }
  });

  it("shows the row that is being written", () => {
    const { rows, partial, flow: it } = flow(10);
    it.write("Hello wor", plain);
    expect([rows, partial()]).toEqual([[], "Hello wor"]);
    it.write("lds", plain);
    expect([rows, partial()]).toEqual([["Hello"], "worlds"]);
    it.end();
    expect([rows, partial()]).toEqual([["Hello", "worlds"], undefined]);
  });

  it("keeps empty lines and begins another look on a new row", () => {
    const { rows, flow: it } = flow(40);
    it.write("a\n\nb", plain);
    it.write("c\nd", quoted);
    it.end();
    expect(rows).toEqual(["a", "", "b", "> c", "> d"]);
  });

  it("goes on under the text of a list item", () => {
    const { rows, flow: it } = flow(24);
    it.write("- one two three four five six seven\n1. alpha beta gamma delta", plain);
    it.end();
    expect(rows).toEqual(["- one two three four", "  five six seven", "1. alpha beta gamma", "   delta"]);
  });

  it("cuts a word that is too long on a terminal, and not in a pipe", () => {
    const word = "x".repeat(25);
    const terminal = flow(10);
    terminal.flow.write(`a ${word} b`, plain);
    terminal.flow.end();
    expect(terminal.rows).toEqual(["a", "x".repeat(10), "x".repeat(10), "xxxxx b"]);
    const pipe = flow(10, false);
    pipe.flow.write(`a ${word} b`, plain);
    pipe.flow.end();
    expect(pipe.rows).toEqual(["a", word, "b"]);
  });

  it("leaves code as it is in a pipe", () => {
    const { rows, flow: it } = flow(10, false);
    it.write("```\nlong line of code here\n```\nlong line of text here", plain);
    it.end();
    expect(rows).toEqual(["```", "long line of code here", "```", "long line", "of text", "here"]);
  });

  it("never makes a row too long on a terminal", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.integer({ min: 5, max: 40 }), (texts, width) => {
        const { rows, flow: it } = flow(width);
        for (const text of texts) it.write(text, quoted);
        it.end();
        expect(rows.every((row) => widthOf(row) <= width)).toBe(true);
      }),
    );
  });
});

describe("diffLines", () => {
  const shown = (before: string, after: string) =>
    diffLines(before, after).lines.map(
      ({ kind, text }) => `${{ same: " ", added: "+", removed: "-", gap: "…" }[kind]}${text}`,
    );

  it("shows what changed with a little around it", () => {
    const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    expect(shown(before, before.replace("5", "five"))).toEqual([" 3", " 4", "-5", "+five", " 6", " 7"]);
    expect(shown(before, before.replace("1\n", "").replace("9", "nine"))).toEqual([
      "-1",
      " 2",
      " 3",
      "…",
      " 7",
      " 8",
      "-9",
      "+nine",
    ]);
    expect(shown("", "a\nb\n")).toEqual(["+a", "+b"]);
    expect(shown("a\n", "")).toEqual(["-a"]);
    expect(shown("a\n", "a\n")).toEqual([]);
  });

  it("numbers lines", () => {
    expect(diffLines("a\nb\nc\n", "a\nx\ny\nc\n")).toEqual({
      added: 2,
      removed: 1,
      lines: [
        { kind: "same", number: 1, text: "a" },
        { kind: "removed", number: 2, text: "b" },
        { kind: "added", number: 2, text: "x" },
        { kind: "added", number: 3, text: "y" },
        { kind: "same", number: 4, text: "c" },
      ],
    });
  });

  it("is right for any two texts: applied to the first it gives the second, and it is shortest", () => {
    const lines = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (a, b) => {
        const { lines: diff, added, removed } = diffLines(a.join("\n"), b.join("\n"));
        const kept = (kind: string) => diff.filter((line) => line.kind === kind).map(({ text }) => text);
        expect(added).toBe(kept("added").length);
        const common = longest(a, b);
        expect([added, removed]).toEqual([b.length - common, a.length - common]);
      }),
    );
  });

  it("gives up on texts that have nothing in common", () => {
    const many = (word: string) => Array.from({ length: 3000 }, (_, index) => `${word}${index}`).join("\n");
    expect(diffLines(many("a"), many("b"))).toMatchObject({ added: 3000, removed: 3000 });
  });
});

function longest(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => Array.from({ length: b.length + 1 }, () => 0));
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const best = a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
      table[i]![j] = best;
    }
  }
  return table[a.length]![b.length]!;
}
