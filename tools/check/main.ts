import { spawnSync } from "node:child_process";
import path from "node:path";
import { performance } from "node:perf_hooks";

// Everything that is checked about the sources besides the tests. Runs every check whatever the others say, shows the
// output of those that fail, and ends with one line, `N passed, N failed`. With names as arguments: only those.

interface Check {
  readonly name: string;
  /** What to do when it fails. */
  readonly help: string;
  readonly command: readonly [string, ...string[]];
}

const node = (file: string, ...args: string[]): [string, ...string[]] => [
  process.execPath,
  "--disable-warning=ExperimentalWarning",
  file,
  ...args,
];

const CHECKS: readonly Check[] = [
  { name: "types", help: "tsc -p tsconfig.json", command: ["tsc", "-p", "tsconfig.json"] },
  { name: "lint", help: "npm run lint", command: ["oxlint", "--type-aware"] },
  { name: "format", help: "npm run format", command: ["oxfmt", "--check", "."] },
  { name: "imports", help: "the table is tools/imports/table.ts", command: node("tools/imports/main.ts") },
  { name: "unused", help: "knip.json says what is an entry", command: ["knip"] },
  { name: "protocols", help: "npm run proto", command: node("protocols/generate.mjs", "--check") },
  { name: "charts", help: "npm run charts", command: node("tools/charts/main.ts", "--check") },
];

const root = path.resolve(import.meta.dirname, "../..");
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !CHECKS.some((check) => check.name === name));
if (unknown.length > 0) {
  console.error(`no check is named ${unknown.join(", ")}; there are ${CHECKS.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
const chosen = wanted.length === 0 ? CHECKS : CHECKS.filter(({ name }) => wanted.includes(name));
let passed = 0;
for (const { name, help, command } of chosen) {
  const begun = performance.now();
  const [program, ...args] = command;
  const done = spawnSync(program, args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const ok = done.status === 0;
  if (ok) passed++;
  else
    console.log(`\n${done.stdout ?? ""}${done.stderr ?? ""}${done.error ? `${done.error.message}\n` : ""}`.trimEnd());
  console.log(`${ok ? "passed" : "FAILED"} ${name} (${seconds} s)${ok ? "" : `: ${help}`}`);
}
console.log(`${passed} passed, ${chosen.length - passed} failed`);
process.exitCode = passed === chosen.length ? 0 : 1;
