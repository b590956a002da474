import { boolean, optional, string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { resolvePath } from "../native/paths.ts";
import { nativeTool, type CallSite } from "../native/tool.ts";
import { counted } from "../text/lines.ts";
import type { agent, ToolVariant } from "../wire.ts";
import type { Before } from "./content.ts";
import { editError, editProgram, editTold, editVariant, type Planned } from "./edit.ts";
import { replaceText } from "./replace.ts";

const args = shape({
  path: string("Path of the file, absolute or from the workspace folder."),
  old_string: string("The text to replace, exactly as it stands in the file, without line numbers."),
  new_string: string("The text to put in its place."),
  replace_all: optional(boolean("Replace every place where old_string stands; without it there must be exactly one.")),
});
type Args = ArgumentsOf<typeof args>;

/** StrReplace: one place, or all places, in a text file. */
export const strReplace = nativeTool({
  name: "StrReplace",
  description:
    "Replaces a piece of text in a file. old_string must match exactly one place, indentation included: give enough lines around it to make it unique, or set replace_all. Read the file first. Line ends stay as they are in the file.",
  shape: args,
  changes: true,
  streamed: "new_string",
  variant,
  failed: (text, given) => editError(given.path ?? "", text),
  told: (text, given) => editTold(given.path ?? "", text),
  program(given, site) {
    const path = resolvePath(site.scope, given.path);
    return editProgram({ path, streamContent: given.new_string, plan: (before) => plan(path, given, before) }, site);
  },
});

function variant(given: Partial<Args>, { scope }: CallSite, result?: agent.EditResult): ToolVariant {
  const path = given.path === undefined ? undefined : resolvePath(scope, given.path);
  return editVariant({ path, streamContent: given.new_string }, result);
}

function plan(path: string, given: Args, before: Before): Planned {
  if (before.kind === "absent") return { ok: false, result: "notFound", why: `File not found: ${path}` };
  if (before.kind === "opaque") return { ok: false, result: "error", why: `Could not edit ${path}: ${before.why}.` };
  const replaced = replaceText(before.text, {
    oldString: given.old_string,
    newString: given.new_string,
    all: given.replace_all ?? false,
  });
  if (!replaced.ok) return { ok: false, result: "error", why: `Could not edit ${path}: ${replaced.why}` };
  return {
    ok: true,
    after: replaced.text,
    summary: ({ added, removed, firstLine }) =>
      `Edited ${path}: ${counted(replaced.count, "replacement")}, the first at line ${firstLine} (${counted(added, "line")} added, ${removed} removed).`,
  };
}
