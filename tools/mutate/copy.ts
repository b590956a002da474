import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** A copy of the workspace to put faults into. Whoever makes it removes it. */
export interface WorkCopy {
  readonly folder: string;
  read(file: string): string;
  write(file: string, text: string): void;
  remove(): void;
}

/** Copies the sources as they are now, committed or not, and links what is installed; the packages' links to each other stay inside. */
export function copyWorkspace(root: string): WorkCopy {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "chartroom-mutate-")));
  // the tests' Postgres may have to run as another user, who reads its files from here
  fs.chmodSync(folder, 0o755);
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const folders = new Set<string>();
  for (const file of listed.split("\0")) {
    // a file that is removed but not committed is still listed
    if (file === "" || !fs.existsSync(path.join(root, file))) continue;
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.copyFileSync(path.join(root, file), path.join(folder, file));
    folders.add(path.dirname(file));
  }
  for (const one of folders) linkInstalled(path.join(root, one), path.join(folder, one));
  return {
    folder,
    read: (file) => fs.readFileSync(path.join(folder, file), "utf8"),
    write: (file, text) => fs.writeFileSync(path.join(folder, file), text),
    remove: () => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** `node_modules` of one folder: links are copied as they are, so that they lead to the copy's packages; what is real is linked. */
function linkInstalled(from: string, to: string): void {
  const installed = path.join(from, "node_modules");
  if (!fs.existsSync(installed)) return;
  linkEntries(fs.realpathSync(installed), path.join(to, "node_modules"));
}

function linkEntries(from: string, to: string): void {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(source), target);
    else if (entry.isDirectory() && entry.name.startsWith("@")) linkEntries(source, target);
    // caches of the test runner are its own in each copy
    else if (entry.isDirectory() && (entry.name === ".pnpm" || entry.name === ".bin")) fs.symlinkSync(source, target);
  }
}
