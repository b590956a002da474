import { string } from "../arguments/field.ts";
import { shape, type ArgumentsOf } from "../arguments/shape.ts";
import { resolvePath } from "../native/paths.ts";
import { nativeTool, type CallSite } from "../native/tool.ts";
import { countLines, counted, lineEnd, withLineEnd } from "../text/lines.ts";
import type { agent, ToolVariant } from "../wire.ts";
import type { Before } from "./content.ts";
import { editError, editProgram, editTold, editVariant, type Planned } from "./edit.ts";

const args = shape({
  path: string("Path of the file, absolute or from the workspace folder. Missing folders are made."),
  contents: string("The whole new text of the file."),
});
type Args = ArgumentsOf<typeof args>;

/** Write: the whole file, new or overwritten. */
export const write = nativeTool({
  name: "Write",
  description:
    "Writes a whole file: makes it, or replaces all of its text. To change a part of a file use StrReplace. Read a file before you replace it.",
  shape: args,
  changes: true,
  streamed: "contents",
  variant,
  failed: (text, given) => editError(given.path ?? "", text),
  told: (text, given) => editTold(given.path ?? "", text),
  program(given, site) {
    const path = resolvePath(site.scope, given.path);
    return editProgram(
      { path, streamContent: given.contents, plan: (before) => plan(path, given.contents, before) },
      site,
    );
  },
});

function variant(given: Partial<Args>, { scope }: CallSite, result?: agent.EditResult): ToolVariant {
  const path = given.path === undefined ? undefined : resolvePath(scope, given.path);
  return editVariant({ path, streamContent: given.contents }, result);
}

/** A file that ends its lines with CRLF throughout keeps doing so: models write LF. */
function plan(path: string, contents: string, before: Before): Planned {
  const carriage = before.kind === "text" && lineEnd(before.text) === "\r\n" && !/(?<!\r)\n/.test(before.text);
  const after = carriage ? withLineEnd(contents, "\r\n") : contents;
  const lines = counted(countLines(after), "line");
  return {
    ok: true,
    after,
    summary({ added, removed }) {
      if (before.kind === "absent") return `Created ${path} (${lines}).`;
      if (before.kind === "opaque") return `Replaced ${path} (${lines}).`;
      return `Replaced the text of ${path} (${lines}; ${added} added, ${removed} removed).`;
    },
  };
}
