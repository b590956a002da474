import type { LsDirectoryTreeNode } from "@chartroom/protocols/agent/v1/workspace";

const INDENT = "  ";

/**
 * A directory as indented text, one name a line, folders first and with a slash at the end, in the order in which the
 * client gave them. A folder whose content was not walked says how many files of which kind lie below it.
 */
export function directoryTree(root: LsDirectoryTreeNode): string {
  const lines: string[] = [];
  walk(root, "", lines);
  return lines.join("\n");
}

function walk(node: LsDirectoryTreeNode, indent: string, lines: string[]): void {
  for (const folder of node.childrenDirs) {
    lines.push(`${indent}${baseName(folder.absPath)}/`);
    walk(folder, indent + INDENT, lines);
  }
  for (const file of node.childrenFiles) lines.push(`${indent}${file.name}`);
  if (!node.childrenWereProcessed && node.numFiles > 0) lines.push(`${indent}[${summary(node)}]`);
}

function summary(node: LsDirectoryTreeNode): string {
  const counts = Object.entries(node.fullSubtreeExtensionCounts)
    .toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    .map(([extension, count]) => `${count} *.${extension.replace(/^\./, "")}`);
  return [`${node.numFiles} files in subtree`, ...counts].join(", ");
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
