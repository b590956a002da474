import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { streamedFields, type StreamedPiece } from "./streamed-fields.ts";

function feedAll(wanted: readonly string[], parts: readonly string[]) {
  const reader = streamedFields(wanted);
  const found: StreamedPiece[] = parts.flatMap((part) => reader.feed(part));
  const text = (name: string) =>
    found
      .filter((piece) => piece.name === name)
      .map((piece) => piece.text)
      .join("");
  return { reader, found, text };
}

/** The text cut at the given places. */
const cutAt = (text: string, places: readonly number[]): string[] => {
  const sorted = [0, ...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b), text.length];
  return sorted.slice(1).map((end, index) => text.slice(sorted[index], end));
};

describe("streamedFields", () => {
  it("gives a value while it is written, and marks its end", () => {
    const { found } = feedAll(["contents"], ['{"path":"a","con', 'tents":"li', "ne\\", 'n2"', "}"]);
    expect(found).toEqual([
      { name: "contents", text: "li", complete: false },
      { name: "contents", text: "ne", complete: false },
      { name: "contents", text: "\n2", complete: true },
    ]);
  });

  it("knows only the outermost object", () => {
    const { text, reader } = feedAll(["a"], ['{"x":{"a":"no"},"y":["a","b"],"z":"a","a":"yes"}']);
    expect(text("a")).toBe("yes");
    expect(reader.closed).toBe(true);
  });

  it("joins a pair of escapes that arrives in two pieces", () => {
    const { found, text } = feedAll(["a"], ['{"a":"\\ud83d', '\\ude00"}']);
    expect(text("a")).toBe("😀");
    expect(found.every((piece) => piece.text.isWellFormed())).toBe(true);
  });

  it.each(["", "}", "]]", '{"a', '{"a":"\\u12x4"}', '"a":"b"', "\\", '{"a":"b"}{"a":"c"}'])("survives %j", (text) => {
    expect(() => feedAll(["a"], [text])).not.toThrow();
  });

  it("stops at the end of the object", () => {
    expect(feedAll(["a"], ['{"a":"b"}{"a":"c"}']).text("a")).toBe("b");
  });

  test.prop([
    fc.record({ path: fc.string({ unit: "binary" }), contents: fc.string({ unit: "binary" }), other: fc.json() }),
    fc.array(fc.nat({ max: 10_000 }), { maxLength: 30 }),
    fc.constantFrom(0, 2),
  ])("reads what JSON.parse reads, however it is cut", (value, places, indent) => {
    const json = JSON.stringify(value, null, indent);
    const { text, reader } = feedAll(["path", "contents"], cutAt(json, places));
    expect(text("path")).toBe(value.path);
    expect(text("contents")).toBe(value.contents);
    expect(reader.closed).toBe(true);
  });
});
