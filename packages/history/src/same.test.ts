import { describe, expect, test } from "vitest";
import { call, Conversation, record, runOf, said } from "./samples.ts";
import { saysSame } from "./same.ts";

describe("saying the same", () => {
  const one = call(runOf("r"), 1, 0, "Read", '{"a":1,"b":[2]}');
  const step = (text: string, calls = [one]) => ({
    ...new Conversation().view.messages[0]!,
    role: "assistant" as const,
    content: { kind: "assistant" as const, record: record(runOf("r"), 1, [said(text)], calls) },
  });
  test.each([
    ["the same call spelled otherwise", step("x", [{ ...one, arguments: '{ "b": [2], "a": 1 }' }]), true],
    ["another argument", step("x", [{ ...one, arguments: '{"a":2,"b":[2]}' }]), false],
    ["another tool", step("x", [{ ...one, name: "Write" }]), false],
    ["broken arguments", step("x", [{ ...one, arguments: "{" }]), false],
    ["another text", step("y"), false],
    ["blanks around the text", step(" x\n"), true],
    ["one call less", step("x", []), false],
  ])("%s", (_name, other, same) => {
    expect(saysSame(other, step("x"))).toBe(same);
  });
});
