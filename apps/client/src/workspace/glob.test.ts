import { describe, expect, it } from "vitest";
import { compileGlob } from "./glob.ts";

describe.each([
  ["*.ts", ["a.ts", "src/deep/b.ts"], ["a.tsx", "a.ts.md"]],
  ["**/*.ts", ["a.ts", "src/b.ts"], ["a.js"]],
  ["src/*.ts", ["src/a.ts"], ["src/deep/a.ts", "lib/src/a.ts"]],
  ["src/**/*.ts", ["src/a.ts", "src/x/y/a.ts"], ["lib/a.ts"]],
  ["/top.md", ["top.md"], ["docs/top.md"]],
  ["*.{ts,tsx}", ["a.ts", "b.tsx"], ["c.js"]],
  ["{src,lib}/**", ["src/a", "lib/b/c"], ["test/a"]],
  ["file?.txt", ["file1.txt"], ["file.txt", "file/1.txt"]],
  ["[ab]*.md", ["a.md", "docs/bc.md"], ["c.md"]],
  ["[!a]*.md", ["b.md"], ["a.md"]],
  ["!*.test.ts", ["a.ts"], ["a.test.ts", "x/b.test.ts"]],
  ["*.ts,!*.test.ts", ["a.ts"], ["a.test.ts", "a.js"]],
  ["docs/", ["docs/a.md", "docs/x/b.md"], ["docs.md", "other/a.md"]],
  ["docs", ["docs", "docs/a.md", "x/docs/b"], ["docs2/a"]],
  ["a+b(1).txt", ["a+b(1).txt"], ["aab1.txt"]],
  ["名*.md", ["名前.md"], ["前.md"]],
  ["a\\*.md", ["a*.md"], ["ab.md"]],
  ["[", ["["], ["a"]],
  ["{a", ["{a"], ["a"]],
  ["", ["anything"], []],
] as [string, string[], string[]][])("%j", (glob, matching, other) => {
  const filter = compileGlob(glob);
  it.each(matching)("takes %j", (path) => expect(filter(path)).toBe(true));
  it.each(other)("leaves %j", (path) => expect(filter(path)).toBe(false));
});
