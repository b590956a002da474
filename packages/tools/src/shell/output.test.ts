import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { outputBuffer } from "./output.ts";

describe("outputBuffer", () => {
  it("keeps everything that fits", () => {
    const buffer = outputBuffer(10);
    expect(buffer.empty).toBe(true);
    for (const part of ["abc", "", "defg", "hij"]) buffer.push(part);
    expect(buffer.empty).toBe(false);
    expect(buffer.text()).toBe("abcdefghij");
  });

  it("keeps the beginning and the end of too much, and says how much is missing", () => {
    const buffer = outputBuffer(10);
    for (let digit = 0; digit < 100; digit += 1) buffer.push(String(digit % 10));
    expect(buffer.text()).toBe("01234\n[… 90 characters left out …]\n56789");
  });

  test.prop([
    fc.array(fc.string({ unit: "binary", maxLength: 12 }), { maxLength: 30 }),
    fc.integer({ min: 4, max: 40 }),
  ])("never cuts a character, never keeps more than twice its limit, and loses nothing uncounted", (parts, limit) => {
    const buffer = outputBuffer(limit);
    for (const part of parts) buffer.push(part);
    const text = buffer.text();
    const all = parts.join("");
    expect(text.isWellFormed()).toBe(true);
    const [, head = all, dropped = "0", tail = ""] =
      /^([\s\S]*?)\n\[… (\d+) characters left out …\]\n([\s\S]*)$/.exec(text) ?? [];
    expect(head.length + Number(dropped) + tail.length).toBe(all.length);
    expect(all.startsWith(head) && all.endsWith(tail)).toBe(true);
    if (dropped !== "0") expect(head.length + tail.length).toBeLessThanOrEqual(limit + 1);
  });
});
