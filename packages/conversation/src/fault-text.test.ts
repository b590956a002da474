import { describe, expect, it } from "vitest";
import { faultText } from "./fault-text.ts";

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("a fault in the log", () => {
  it("does not quote what a parser could not read", () => {
    const text = faultText(caught(() => JSON.parse("marked-content")));
    expect(text).toMatch(/^SyntaxError at .*fault-text\.test\.ts:\d+:\d+/u);
    expect(text).not.toContain("marked");
    expect(faultText(new Error("marked-content"))).not.toContain("marked");
  });

  it("says what a mistake of the code is, and where", () => {
    const text = faultText(caught(() => (undefined as unknown as { readonly name: string }).name));
    expect(text).toMatch(/^TypeError: .*reading 'name'.* at .*fault-text\.test\.ts:\d+:\d+/u);
  });

  it("takes whatever is thrown", () => {
    expect(faultText("marked-content")).toBe("something that is no error was thrown");
  });
});
