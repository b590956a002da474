import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { differences, machineIn, outputsOf } from "./outputs.ts";

// Writes machines/charts from machines/*.machine.ts. With --check it writes nothing and fails if a file there is not what
// its machine gives.
const check = process.argv.includes("--check");
const machines = path.resolve(import.meta.dirname, "../../machines");
const charts = path.join(machines, "charts");

const expected = new Map<string, string>();
const files = fs.readdirSync(machines).filter((name) => name.endsWith(".machine.ts"));
if (files.length === 0) {
  console.error("there is no machine in machines/");
  process.exit(1);
}
for (const name of files) {
  const module = (await import(pathToFileURL(path.join(machines, name)).href)) as Record<string, unknown>;
  for (const [output, text] of await outputsOf(machineIn(name, module))) expected.set(output, text);
}
const present = new Map(
  (fs.existsSync(charts) ? fs.readdirSync(charts) : []).map((name) => [
    name,
    fs.readFileSync(path.join(charts, name), "utf8"),
  ]),
);
const { differing, stale } = differences(expected, present);
if (check) {
  for (const name of differing) console.log(`machines/charts/${name} is not what its machine gives`);
  for (const name of stale) console.log(`machines/charts/${name} belongs to no machine`);
  console.log(`${expected.size} files of ${files.length} charts, ${differing.length + stale.length} differ`);
  process.exitCode = differing.length + stale.length === 0 ? 0 : 1;
} else {
  fs.mkdirSync(charts, { recursive: true });
  for (const name of differing) fs.writeFileSync(path.join(charts, name), expected.get(name) ?? "");
  for (const name of stale) fs.rmSync(path.join(charts, name));
  console.log(`${expected.size} files of ${files.length} charts, ${differing.length} written, ${stale.length} removed`);
}
