import { create } from "@bufbuild/protobuf";
import { type LsDirectoryTreeNode, LsDirectoryTreeNodeSchema } from "@chartroom/protocols/agent";
import type { Dirent } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { compileGlob } from "./glob.ts";
import { ignoredNames, isNeverListed } from "./list.ts";

export interface TreeLimits {
  /** Files and folders together; folders beyond it are named but not opened. */
  readonly entries: number;
  readonly depth: number;
}

interface Pending {
  readonly node: LsDirectoryTreeNode;
  /** Relative to the root of the whole listing, with `/`. */
  readonly relative: string;
  readonly depth: number;
}

/**
 * The tree of names under `within` (relative to `root`), breadth first, without what is ignored. A folder that is not
 * opened any more has `childrenWereProcessed` false (wire section 5.3). Throws when `within` cannot be read.
 */
export async function directoryTree(
  root: string,
  within: string,
  ignore: readonly string[],
  limits: TreeLimits,
): Promise<LsDirectoryTreeNode> {
  const skip = ignore.map((glob) => compileGlob(glob));
  const top = nodeOf(path.join(root, within));
  let level: Pending[] = [{ node: top, relative: within, depth: 0 }];
  // a folder that is ignored but asked for by name is listed
  const unfiltered = (await ignoredNames(root, within === "" ? [] : [within])).size > 0;
  let left = limits.entries;
  while (level.length > 0) {
    const read = await Promise.all(level.map(async (one) => ({ ...one, entries: await entriesOf(root, one) })));
    const names = read.flatMap(({ relative, entries }) => entries.map((entry) => join(relative, entry.name)));
    const ignored = unfiltered ? new Set<string>() : await ignoredNames(root, names);
    const next: Pending[] = [];
    for (const { node, relative, depth, entries } of read) {
      if (left <= 0 || depth >= limits.depth) {
        count(node, entries);
        continue;
      }
      node.childrenWereProcessed = true;
      for (const entry of entries) {
        const name = join(relative, entry.name);
        if (isNeverListed(entry.name) && !unfiltered) continue;
        if (ignored.has(name) || skip.some((filter) => filter(name))) continue;
        left -= 1;
        if (entry.isDirectory()) {
          const child = nodeOf(path.join(root, name));
          node.childrenDirs.push(child);
          next.push({ node: child, relative: name, depth: depth + 1 });
        } else {
          node.childrenFiles.push({ $typeName: "agent.v1.LsDirectoryTreeNode.File", name: entry.name });
          node.numFiles += 1;
        }
      }
    }
    level = next;
  }
  return top;
}

/** The tree as indented text, for people. */
export function treeText(node: LsDirectoryTreeNode, indent = ""): string[] {
  const lines = node.childrenDirs.flatMap((dir) => [
    `${indent}${path.basename(dir.absPath)}/${dir.childrenWereProcessed ? "" : " …"}`,
    ...treeText(dir, `${indent}  `),
  ]);
  return [...lines, ...node.childrenFiles.map((file) => `${indent}${file.name}`)];
}

function nodeOf(absPath: string): LsDirectoryTreeNode {
  return create(LsDirectoryTreeNodeSchema, { absPath });
}

async function entriesOf(root: string, { relative, depth }: Pending): Promise<Dirent[]> {
  try {
    const entries = await fs.readdir(path.join(root, relative), { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (depth === 0) throw error;
    return [];
  }
}

/** What an unopened folder holds itself, by file name extension. */
function count(node: LsDirectoryTreeNode, entries: readonly Dirent[]): void {
  for (const entry of entries) {
    if (entry.isDirectory()) continue;
    node.numFiles += 1;
    const extension = path.extname(entry.name);
    node.fullSubtreeExtensionCounts[extension] = (node.fullSubtreeExtensionCounts[extension] ?? 0) + 1;
  }
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}
