import { describe, expect, it } from "vitest";
import { searchText, splitLines } from "./search-text.ts";

const text = "one\ntwo\nthree\nfour\nfive\n";
const plain = { multiline: false, before: 0, after: 0 };

describe("searchText", () => {
  it("finds the lines of a pattern", () => {
    expect(searchText(text, { ...plain, regex: /o/g })).toEqual({
      lines: [
        { number: 1, text: "one", cut: false, context: false },
        { number: 2, text: "two", cut: false, context: false },
        { number: 4, text: "four", cut: false, context: false },
      ],
      matched: 3,
    });
  });

  it("gives lines around a hit once, even where they overlap", () => {
    const { lines } = searchText(text, { ...plain, before: 1, after: 1, regex: /two|four/g });
    expect(lines.map((line) => [line.number, line.context])).toEqual([
      [1, true],
      [2, false],
      [3, true],
      [4, false],
      [5, true],
    ]);
  });

  it("spans lines when asked to", () => {
    const { lines, matched } = searchText(text, { ...plain, multiline: true, regex: /two.three/gs });
    expect(lines.map((line) => line.number)).toEqual([2, 3]);
    expect(matched).toBe(2);
  });

  it("ends with an empty match", () => {
    expect(searchText("a\n\nb\n", { ...plain, multiline: true, regex: /^$/gm }).lines).toMatchObject([{ number: 2 }]);
  });

  it("cuts a very long line between characters", () => {
    const { lines } = searchText("😀".repeat(3000), { ...plain, regex: /./gu });
    expect(lines[0]?.cut).toBe(true);
    expect(lines[0]?.text.isWellFormed()).toBe(true);
  });

  it("takes CRLF as a line end", () => {
    expect(searchText("a\r\nb\r\n", { ...plain, regex: /b$/g }).lines).toMatchObject([{ number: 2, text: "b" }]);
  });
});

it("splitLines counts as an editor does", () => {
  expect(splitLines("")).toEqual([]);
  expect(splitLines("a")).toEqual(["a"]);
  expect(splitLines("a\n")).toEqual(["a"]);
  expect(splitLines("a\n\n")).toEqual(["a", ""]);
});
