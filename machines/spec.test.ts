import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const folder = import.meta.dirname;
const read = (file: string): string => fs.readFileSync(path.join(folder, file), "utf8");
const numbers = (text: string, letters: string): readonly string[] =>
  [...new Set([...text.matchAll(new RegExp(`\\b[${letters}][0-9]+\\b`, "gu"))].map(([number]) => number))].toSorted();
/** Titles of the tests of some files, and nothing else of them. */
const titles = (files: RegExp): string =>
  fs
    .readdirSync(folder)
    .filter((name) => files.test(name))
    .flatMap((name) => [...read(name).matchAll(/\b(?:it|describe)\(\s*"([^"]+)"|\)\(\s*"([^"]+)"/gu)])
    .map(([, title, each]) => title ?? each)
    .join("\n");

describe.each([
  { spec: "conversation.spec.md", tests: /^conversation\..*test\.ts$/u, letters: "IC" },
  { spec: "cursor-run.spec.md", tests: /^cursor-run\..*test\.ts$/u, letters: "R" },
])("$spec", ({ spec, tests, letters }) => {
  it("every rule has a test, and every numbered test a rule", () => {
    const rules = [...read(spec).matchAll(/^\| ([A-Z][0-9]+) \|/gmu)].map(([, number]) => number ?? "");
    expect(new Set(rules).size).toBe(rules.length);
    expect(numbers(titles(tests), letters)).toEqual(rules.toSorted());
  });

  it("names every bound of its chart", () => {
    const machine = read(spec.replace(".spec.md", ".machine.ts"));
    const delays = machine.slice(machine.indexOf("  delays: {"), machine.indexOf("  guards: {"));
    const declared = [...delays.matchAll(/^ {4}(\w+): \(/gmu)].map(([, name]) => name ?? "");
    expect(declared.length).toBeGreaterThan(4);
    expect(declared.filter((name) => !read(spec).includes(`\`${name}\``))).toEqual([]);
  });
});
