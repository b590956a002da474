import { posix } from "node:path";
import type { ToolScope } from "@chartroom/domain";

/** The folder that relative paths are meant from: the first workspace folder; empty when the client named none. */
export function workspaceOf(scope: ToolScope): string {
  return scope.context?.env?.workspacePaths[0] ?? "";
}

/** A path of the model as the client is asked for it. Relative ones get the workspace folder in front; nothing else is touched. */
export function resolvePath(scope: ToolScope, path: string): string {
  const base = workspaceOf(scope);
  if (base === "" || isAbsolute(path)) return path;
  const separator = base.includes("\\") && !base.includes("/") ? "\\" : "/";
  const inside = path.replace(/^(?:\.[/\\])+/, "");
  const root = /[/\\]$/.test(base) ? base : `${base}${separator}`;
  return inside === "" || inside === "." ? base : `${root}${inside}`;
}

/** POSIX, drive letter, UNC, home folder, or a URI. */
export function isAbsolute(path: string): boolean {
  return /^(?:[/\\~]|[A-Za-z]:[/\\]|[A-Za-z][A-Za-z0-9+.-]+:\/\/)/.test(path);
}

/** The same for every way to write the path of one file, as far as a path alone tells. */
export function fileKey(path: string): string {
  return `file:${posix.normalize(path.replaceAll("\\", "/"))}`;
}

/** The last part of a path. */
export function fileName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}
