import { boolean, choice, integer, optional, string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { single } from "../execution/single.ts";
import type { ToolProgram } from "../execution/program.ts";
import { because } from "../text/because.ts";
import { agent, create, type ToolVariant } from "../wire.ts";
import { grepText } from "./grep-text.ts";
import { resolvePath } from "./paths.ts";
import { nativeTool, type CallSite } from "./tool.ts";

const CONTEXT = { min: 0, max: 1000 };

const args = shape({
  pattern: string("Regular expression, in ripgrep's syntax."),
  path: optional(string("File or folder to search in; without it the whole workspace.")),
  glob: optional(string('Only files whose path matches, such as "*.ts" or "src/**".')),
  output_mode: optional(
    choice(
      ["content", "files_with_matches", "count"],
      "What to give: matching lines (content, the default), paths of files with a match, or the number of matches per file.",
    ),
  ),
  "-A": optional(integer("Lines to show after each match. For content only.", CONTEXT)),
  "-B": optional(integer("Lines to show before each match. For content only.", CONTEXT)),
  "-C": optional(integer("Lines to show before and after each match. For content only.", CONTEXT)),
  "-i": optional(boolean("Ignore upper and lower case.")),
  type: optional(string('Only files of a type that ripgrep knows, such as "js", "py" or "rust".')),
  head_limit: optional(integer("Give only the first so many lines, files or counts.", { min: 1, max: 1_000_000 })),
  offset: optional(integer("Leave out the first so many lines, files or counts.", { min: 0, max: 1_000_000 })),
  multiline: optional(boolean("Let a match span lines, and let `.` match a line end.")),
});
type Args = ArgumentsOf<typeof args>;

/** Grep (exec 5). */
export const grep = nativeTool({
  name: "Grep",
  description:
    "Searches file contents with ripgrep; ignored files are left out. Use it instead of running grep in the shell. A literal `{`, `(` or `.` needs a backslash in the pattern. Matching lines come back as `LINE:TEXT` under their file, context lines as `LINE-TEXT`.",
  shape: args,
  changes: false,
  variant,
  failed: failure,
  told: (_text, given) =>
    create(agent.GrepResultSchema, {
      result: { case: "success", value: create(agent.GrepSuccessSchema, { pattern: given.pattern ?? "" }) },
    }),
  program,
});

function variant(given: Partial<Args>, site: CallSite, result?: agent.GrepResult): ToolVariant {
  const value = create(agent.GrepToolCallSchema, {
    args: Object.keys(given).length === 0 ? create(agent.GrepArgsSchema) : grepArgs(given, site),
    ...(result !== undefined && { result }),
  });
  return { case: "grepToolCall", value };
}

function grepArgs(given: Partial<Args>, site: CallSite): agent.GrepArgs {
  return create(agent.GrepArgsSchema, {
    pattern: given.pattern ?? "",
    outputMode: given.output_mode ?? "content",
    toolCallId: site.callId,
    ...(given.path !== undefined && { path: resolvePath(site.scope, given.path) }),
    ...(given.glob !== undefined && { glob: given.glob }),
    ...(given["-A"] !== undefined && { contextAfter: given["-A"] }),
    ...(given["-B"] !== undefined && { contextBefore: given["-B"] }),
    ...(given["-C"] !== undefined && { context: given["-C"] }),
    ...(given["-i"] !== undefined && { caseInsensitive: given["-i"] }),
    ...(given.type !== undefined && { type: given.type }),
    ...(given.head_limit !== undefined && { headLimit: given.head_limit }),
    ...(given.offset !== undefined && { offset: given.offset }),
    ...(given.multiline !== undefined && { multiline: given.multiline }),
  });
}

function failure(error: string): agent.GrepResult {
  const value = create(agent.GrepErrorSchema, { error });
  return create(agent.GrepResultSchema, { result: { case: "error", value } });
}

function program(given: Args, site: CallSite): ToolProgram {
  return single({
    card: variant(given, site),
    args: { case: "grepArgs", value: grepArgs(given, site) },
    failed: (text) => variant(given, site, failure(text)),
    complete(answer) {
      if (answer.case !== "grepResult") return undefined;
      const { result } = answer.value;
      const tool = variant(given, site, answer.value);
      switch (result.case) {
        case "success":
          return { text: grepText(result.value), isError: false, tool };
        case "error":
          return { text: `The search failed${because(result.value.error)}`, isError: true, tool };
        case undefined:
          return undefined;
      }
    },
  });
}
