import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { PIECE_BYTES, pieces } from "./pieces.ts";

const bytes = (text: string) => new TextEncoder().encode(text).byteLength;

describe("pieces", () => {
  it("TL-10: cuts one line of 8,193 bytes of Chinese on character borders", () => {
    const line = "汉".repeat(2731);
    expect(bytes(line)).toBe(8193);
    const cut = pieces(line);
    expect(cut.map(bytes)).toEqual([4095, 4095, 3]);
    expect(cut.join("")).toBe(line);
  });

  it("TL-11: puts U+FFFD in the place of half a pair", () => {
    expect(pieces("a\ud800b")).toEqual(["a\ufffdb"]);
  });

  it("gives no piece of no text", () => {
    expect(pieces("")).toEqual([]);
  });

  test.prop([fc.string({ unit: "binary", maxLength: 200 }), fc.integer({ min: 1, max: 16 })])(
    "every piece is whole, small, and all of them are the text",
    (text, limit) => {
      const cut = pieces(text, limit);
      expect(cut.join("")).toBe(text);
      for (const piece of cut) {
        expect(piece.isWellFormed()).toBe(true);
        expect(bytes(piece) <= limit || [...piece].length === 1).toBe(true);
      }
      expect(pieces(text, PIECE_BYTES).length).toBeLessThanOrEqual(1);
    },
  );
});
