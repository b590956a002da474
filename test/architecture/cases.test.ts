import fs from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const root = path.join(import.meta.dirname, "../..");
const read = (file: string): string => fs.readFileSync(path.join(root, file), "utf8");

const numbered = (name: string, ...numbers: readonly number[]): readonly string[] =>
  numbers.map((number) => `${name}-${String(number).padStart(2, "0")}`);

/** The cases that each document owns; those that wait for a later room are named in its text instead. */
const DOCUMENTS = [
  {
    document: "docs/lifecycle.md",
    cases: [
      ...numbered("ID", 1, 2, 3, 4, 5, 7, 8, 10, 11, 14, 15, 16),
      ...numbered("TR", 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 17, 19, 20, 22, 23),
      ...numbered("LC", 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17, 19, 20, 23, 26),
    ],
    deferred: [...numbered("ID", 13, 17), ...numbered("TR", 13, 14, 16), ...numbered("LC", 11, 22, 25)],
  },
  {
    document: "docs/history.md",
    cases: [
      ...numbered("HI", 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14, 16, 17, 19, 20, 21, 22, 23, 25, 26),
      ...numbered("CO", 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13),
    ],
    deferred: [],
  },
];

describe.each(DOCUMENTS)("the table of cases in $document", ({ document, cases, deferred }) => {
  const text = read(document);
  const rows = [...text.matchAll(/^\| (?<id>[A-Z]{2}-\d\d) \|.*\| (?<tests>.*) \|$/gmu)].map(
    ({ groups }) => [groups!["id"]!, [...groups!["tests"]!.matchAll(/`([^`]+)`/gu)].map((found) => found[1]!)] as const,
  );

  test("has each case once, in order, and names those that wait", () => {
    expect(rows.map(([id]) => id)).toEqual(cases);
    for (const id of deferred) expect(text).toContain(id);
  });

  test.for(rows)("%s is in the name of a test of each file that it names", ([id, files]) => {
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) expect(namesIn(read(`${file}.test.ts`)), file).toContain(id);
  });
});

/** The names of the tests and groups of a file. */
function namesIn(text: string): string {
  const calls =
    /\b(?:test|it|describe)(?:\.(?:each|for)\((?:[^()]|\([^()]*\))*\))?\(\s*(?<name>"(?:[^"\\]|\\.)*"|`[^`]*`)/gu;
  // a table of cases stands between `test.for` and the name
  const tabled = /\](?: as const)?,?\s*\)\(\s*(?<name>"(?:[^"\\]|\\.)*")/gu;
  return [calls, tabled].flatMap((form) => [...text.matchAll(form)].map(({ groups }) => groups!["name"]!)).join("\n");
}
