import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { machineIn, outputsOf } from "./outputs.ts";

// Writes machines/charts from machines/*.machine.ts. With --check it writes nothing and fails if a file there is not what
// its machine gives. With a folder as second argument (--from FOLDER) it reads the machines of that folder instead.
const check = process.argv.includes("--check");
const machines = path.resolve(import.meta.dirname, "../../machines");
const charts = path.join(machines, "charts");

const expected = new Map<string, string>();
const files = fs.readdirSync(machines).filter((name) => name.endsWith(".machine.ts"));
for (const name of files) {
  const module = (await import(pathToFileURL(path.join(machines, name)).href)) as Record<string, unknown>;
  for (const [output, text] of await outputsOf(machineIn(name, module))) expected.set(output, text);
}
if (files.length === 0) {
  console.error("no machine found in machines/");
  process.exit(1);
}
const present = fs.existsSync(charts) ? fs.readdirSync(charts) : [];
const stale = present.filter((name) => !expected.has(name));
const differing = [...expected].filter(
  ([name, text]) => !present.includes(name) || fs.readFileSync(path.join(charts, name), "utf8") !== text,
);
if (check) {
  for (const [name] of differing) console.log(`machines/charts/${name} is not what its machine gives`);
  for (const name of stale) console.log(`machines/charts/${name} belongs to no machine`);
  console.log(`${expected.size} files of ${files.length} charts, ${differing.length + stale.length} differ`);
  process.exitCode = differing.length + stale.length === 0 ? 0 : 1;
} else {
  fs.mkdirSync(charts, { recursive: true });
  for (const [name, text] of differing) fs.writeFileSync(path.join(charts, name), text);
  for (const name of stale) fs.rmSync(path.join(charts, name));
  console.log(`${expected.size} files of ${files.length} charts, ${differing.length} written, ${stale.length} removed`);
}
