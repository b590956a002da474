import type { AgentMode } from "@chartroom/domain";

interface Guide {
  /** Speaks of these tools; shown when all of them are offered. */
  readonly tools: readonly string[];
  readonly text: string;
  /** Only where files may be changed. */
  readonly writes?: boolean;
}

const GUIDES: readonly Guide[] = [
  {
    tools: ["Read"],
    text: "`Read` shows a file. Read what you need whole unless it is long; then read the part that matters with `offset` and `limit`.",
  },
  {
    tools: ["Grep"],
    text: "`Grep` searches file contents by regular expression. Use it, not a shell command, to find where something is defined or used.",
  },
  {
    tools: ["Glob"],
    text: "`Glob` finds files by name. Use it when you know what a file is called but not where it is.",
  },
  {
    tools: ["ReadLints"],
    text: "`ReadLints` gives the editor's findings for files. Look at them after you have edited; fix those that you caused.",
  },
  {
    tools: ["StrReplace"],
    text: "`StrReplace` replaces one passage of a file. Read the file first. The old text must be exactly what the file holds, indentation included and without the line numbers that a tool shows before it, and long enough to occur once. Prefer it to writing the whole file anew.",
    writes: true,
  },
  {
    tools: ["Write"],
    text: "`Write` creates a file or replaces all of it. Use it for new files and for complete rewrites only.",
    writes: true,
  },
  {
    tools: ["Delete"],
    text: "`Delete` removes a file. Use it for files that the task makes superfluous, not to tidy up.",
    writes: true,
  },
  {
    tools: ["Shell"],
    text: "`Shell` runs a command in the user's shell. Use it for builds, tests, version control and programs of the project, not to read, search or edit files where another tool does that. Quote paths with spaces, give absolute paths or the working directory instead of `cd`, and avoid commands that wait for input or never end; run a server in the background. Say in a few words what a command is for when that is not plain.",
  },
  {
    tools: ["Task"],
    text: "`Task` hands a part of the work to a subagent that has its own context. Use it for searches through much code and for independent parts; give it everything that it needs to know, and check what it reports.",
  },
  {
    tools: ["TodoWrite"],
    text: "`TodoWrite` keeps the list of what is to be done where the user sees it. Use it for work of three or more parts, and keep it true while you work.",
  },
];

const GENERAL: readonly string[] = [
  "Use the tools to find out; do not ask the user for what a tool can tell you, and do not invent what you have not seen.",
  "Calls that do not depend on each other belong in one step, side by side. Calls that do depend on each other come one after the other.",
  "Give arguments exactly as the tool's schema says. If a call fails, read its message and change something before you try again.",
  "A result that was cut says so: ask for the missing part if you need it.",
];

const BROUGHT =
  "The other tools come from the user's client, mostly from MCP servers. Their descriptions say what they do; `<mcp>` says more about the servers. Prefer them where they fit the task better than a command of your own.";

/** Modes in which nothing may be changed. */
const READ_ONLY: ReadonlySet<AgentMode> = new Set(["ask", "plan"]);

/** How to use the tools that are offered, in a fixed order; empty when there are none. */
export function toolGuide(tools: ReadonlySet<string>, mode: AgentMode): string {
  if (tools.size === 0) return "# Tools\n\nThere are no tools in this conversation: answer from what you are told.";
  const own = GUIDES.filter(
    (guide) => guide.tools.every((name) => tools.has(name)) && !(guide.writes === true && READ_ONLY.has(mode)),
  );
  const native = new Set(GUIDES.flatMap((guide) => guide.tools));
  const brought = [...tools].some((name) => !native.has(name)) ? [BROUGHT] : [];
  return ["# Tools\n", ...[...GENERAL, ...own.map((guide) => guide.text), ...brought].map((line) => `- ${line}`)].join(
    "\n",
  );
}
