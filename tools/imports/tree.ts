import fs from "node:fs";
import path from "node:path";
import type { Source } from "./judge.ts";

const SKIPPED = new Set(["node_modules", "dist", "coverage", "fixtures"]);

/** All TypeScript files under a root, as the checks see them: without dependencies, build output and dot folders. */
export function readSources(root: string): Source[] {
  const found: Source[] = [];
  const visit = (folder: string) => {
    for (const entry of fs.readdirSync(path.join(root, folder), { withFileTypes: true })) {
      const name = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!SKIPPED.has(entry.name) && !entry.name.startsWith(".")) visit(name);
      } else if (/\.[cm]?tsx?$/.test(entry.name)) {
        found.push({ path: name, text: fs.readFileSync(path.join(root, name), "utf8") });
      }
    }
  };
  visit("");
  return found;
}

/** Folders below `packages`, `apps` and the root that have a package.json, from the root. */
export function packageFolders(root: string): string[] {
  const below = (parent: string) =>
    fs.existsSync(path.join(root, parent))
      ? fs
          .readdirSync(path.join(root, parent), { withFileTypes: true })
          .flatMap((entry) => (entry.isDirectory() ? [`${parent}/${entry.name}`] : []))
      : [];
  return ["protocols", "machines", ...below("packages"), ...below("apps")].filter((folder) =>
    fs.existsSync(path.join(root, folder, "package.json")),
  );
}
