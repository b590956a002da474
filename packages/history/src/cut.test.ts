import fc from "fast-check";
import { expect, test } from "vitest";
import { cutText, RESULT_LIMIT } from "./cut.ts";

const bytes = (text: string) => new TextEncoder().encode(text).byteLength;

test("a text within the limit is untouched, to the byte", () => {
  const text = "x".repeat(RESULT_LIMIT);
  expect(cutText(text)).toBe(text);
  expect(cutText("漢".repeat(RESULT_LIMIT / 4))).toBe("漢".repeat(RESULT_LIMIT / 4));
});

test("one byte more is cut: beginning and end stay, the note says how much is missing", () => {
  const text = `first line\n${"x".repeat(RESULT_LIMIT)}\nlast line`;
  const cut = cutText(text);
  expect(bytes(cut)).toBeLessThanOrEqual(RESULT_LIMIT);
  expect(cut.startsWith("first line\n")).toBe(true);
  expect(cut.endsWith("\nlast line")).toBe(true);
  const left = Number(/\[(\d+) of (\d+) bytes are left out/u.exec(cut)?.[1]);
  const note = bytes(cut.slice(cut.indexOf("\n\n["), cut.indexOf("]\n\n") + 3));
  expect(left).toBe(bytes(text) - (bytes(cut) - note));
});

test("any text: the limit holds, no character is split, the same text gives the same cut", () => {
  const unit = fc.constantFrom("a", "é", "漢", "😀", "\n", "\u0301", "line\n");
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 400 }), fc.integer({ min: 600, max: 1200 }), (units, limit) => {
      const text = units.join("");
      const cut = cutText(text, limit);
      expect(bytes(cut)).toBeLessThanOrEqual(Math.max(limit, bytes(text) <= limit ? bytes(text) : 0));
      expect(cut.isWellFormed()).toBe(true);
      expect(cutText(text, limit)).toBe(cut);
      if (bytes(text) <= limit) expect(cut).toBe(text);
    }),
  );
});
