import { optional, string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { single } from "../execution/single.ts";
import type { ToolProgram } from "../execution/program.ts";
import { because } from "../text/because.ts";
import { counted } from "../text/lines.ts";
import { agent, create, type ToolVariant } from "../wire.ts";
import { isAbsolute, resolvePath } from "./paths.ts";
import { nativeTool, type CallSite } from "./tool.ts";

const args = shape({
  glob_pattern: string(
    'Pattern of the path, such as "**/*.test.ts"; one that does not begin with "**/" is found at any depth.',
  ),
  target_directory: optional(string("Folder to search in; without it the whole workspace.")),
});
type Args = ArgumentsOf<typeof args>;

/** Glob: on the wire a grep with an empty pattern (wire section 5.3). */
export const glob = nativeTool({
  name: "Glob",
  description:
    "Finds files by their path. Ignored files are left out. Use it instead of running find or ls in the shell.",
  shape: args,
  changes: false,
  variant,
  failed: failure,
  told: (_text, given) =>
    create(agent.GlobToolResultSchema, {
      result: { case: "success", value: create(agent.GlobToolSuccessSchema, { pattern: given.glob_pattern ?? "" }) },
    }),
  program,
});

function variant(given: Partial<Args>, { scope }: CallSite, result?: agent.GlobToolResult): ToolVariant {
  const value = create(agent.GlobToolCallSchema, {
    args: {
      ...(given.glob_pattern !== undefined && { globPattern: given.glob_pattern }),
      ...(given.target_directory !== undefined && { targetDirectory: resolvePath(scope, given.target_directory) }),
    },
    ...(result !== undefined && { result }),
  });
  return { case: "globToolCall", value };
}

function failure(error: string): agent.GlobToolResult {
  const value = create(agent.GlobToolErrorSchema, { error });
  return create(agent.GlobToolResultSchema, { result: { case: "error", value } });
}

const atAnyDepth = (pattern: string): string =>
  pattern.startsWith("**") || isAbsolute(pattern) ? pattern : `**/${pattern.replace(/^\.\//, "")}`;

function program(given: Args, site: CallSite): ToolProgram {
  const path = given.target_directory === undefined ? undefined : resolvePath(site.scope, given.target_directory);
  return single({
    card: variant(given, site),
    args: {
      case: "grepArgs",
      value: create(agent.GrepArgsSchema, {
        pattern: "",
        glob: atAnyDepth(given.glob_pattern),
        outputMode: "files_with_matches",
        toolCallId: site.callId,
        ...(path !== undefined && { path }),
      }),
    },
    failed: (text) => variant(given, site, failure(text)),
    complete(answer) {
      if (answer.case !== "grepResult") return undefined;
      const { result } = answer.value;
      switch (result.case) {
        case "success": {
          const found = filesOf(result.value);
          const value = create(agent.GlobToolSuccessSchema, {
            pattern: given.glob_pattern,
            path: path ?? "",
            ...found,
          });
          const tool = variant(given, site, create(agent.GlobToolResultSchema, { result: { case: "success", value } }));
          return { text: textOf(found), isError: false, tool };
        }
        case "error": {
          const text = `The search failed${because(result.value.error)}`;
          return { text, isError: true, tool: variant(given, site, failure(text)) };
        }
        case undefined:
          return undefined;
      }
    },
  });
}

interface Found {
  readonly files: string[];
  readonly totalFiles: number;
  readonly clientTruncated: boolean;
  readonly ripgrepTruncated: boolean;
}

/** Files of all workspaces; with several of them, each file with its workspace in front. */
function filesOf(success: agent.GrepSuccess): Found {
  const workspaces = Object.entries(success.workspaceResults).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const parts = workspaces.flatMap(([root, { result }]) =>
    result.case === "files" ? [{ root, value: result.value }] : [],
  );
  const files = parts.flatMap(({ root, value }) =>
    value.files
      .filter(named)
      .map((file) => (workspaces.length > 1 && !isAbsolute(file) ? `${root}/${file.replace(/^\.\//, "")}` : file)),
  );
  return {
    files,
    totalFiles: Math.max(
      files.length,
      parts.reduce((sum, { value }) => sum + value.totalFiles, 0),
    ),
    clientTruncated: parts.some(({ value }) => value.clientTruncated),
    ripgrepTruncated: parts.some(({ value }) => value.ripgrepTruncated),
  };
}

/** A client may pad its list; a file without a name is none. */
const named = (file: string): boolean => file.trim() !== "";

function textOf({ files, totalFiles, clientTruncated, ripgrepTruncated }: Found): string {
  if (files.length === 0) return "No files found.";
  const cut = clientTruncated || ripgrepTruncated || totalFiles > files.length;
  return cut
    ? `${files.join("\n")}\n\n[${counted(files.length, "file")} of ${totalFiles}${totalFiles > files.length ? "" : " or more"}. Narrow the pattern.]`
    : files.join("\n");
}
