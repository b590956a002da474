import { describe, expect, it } from "vitest";
import { firstWords } from "./naming.ts";

describe("firstWords", () => {
  it.each([
    ["", "New chat"],
    [" \n\t ", "New chat"],
    ["Fix  the\nbuild", "Fix the build"],
    ["x".repeat(60), "x".repeat(60)],
    ["x".repeat(70), `${"x".repeat(60)}…`],
    [
      "Rename the function that reads the configuration and update every caller",
      "Rename the function that reads the configuration and update…",
    ],
  ])("of %j", (message, name) => {
    expect(firstWords(message)).toBe(name);
  });

  it("never cuts a character in half", () => {
    const name = firstWords(`${"x".repeat(59)}😀😀😀`);
    expect(name.isWellFormed()).toBe(true);
    expect(name.length).toBeLessThanOrEqual(61);
  });

  it("is the same for the same message", () => {
    expect(firstWords("a b c")).toBe(firstWords("a b c"));
  });
});
