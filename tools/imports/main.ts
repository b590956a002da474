import fs from "node:fs";
import path from "node:path";
import { judge, RULES } from "./judge.ts";
import { judgeManifest, type Manifest } from "./manifests.ts";
import { packageFolders, readSources } from "./tree.ts";

// Prints each violation as `file:line rule what`, and exits 1 if there is any.
const root = path.resolve(import.meta.dirname, "../..");
const verdict = judge(readSources(root));
for (const { file, line, rule, what } of verdict.violations)
  console.log(`${file}:${line} ${rule} ${what} (${RULES[rule]})`);
const manifests = packageFolders(root).flatMap((folder) =>
  judgeManifest(folder, JSON.parse(fs.readFileSync(path.join(root, folder, "package.json"), "utf8")) as Manifest),
);
for (const difference of manifests) console.log(`package.json ${difference}`);
const found = verdict.violations.length + manifests.length;
console.log(`${verdict.imports} imports in ${verdict.files} files, ${found} violations`);
process.exitCode = found === 0 ? 0 : 1;
