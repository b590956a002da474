import { addedLine, appendTo, contentOf } from "./edit.ts";
import type { Act, Pass } from "./pass.ts";
import type { DoneCall, Turn } from "./turn.ts";
import { readWish, type Wish } from "./wish.ts";

const OWN_FILE = "CHARTROOM.md";
const OWN_TEXT = `# Chartroom

Written by Chartroom's demo model, which follows a script and needs no key. Configure a provider to get a real one.
`;

/**
 * The next pass of a whole turn: look around, read a file, change it, run a command, sum up. Each tool is used at most once,
 * so it always ends. A tool that is not offered, fails or is rejected is passed over.
 */
export function nextPass(turn: Turn): Pass {
  const wish = readWish(turn.prompt);
  const last = turn.done.at(-1);
  if (last === undefined) return begin(turn, wish);
  switch (last.name) {
    case "Glob":
      return afterLook(turn, wish, last);
    case "Read":
      return afterRead(turn, wish, last);
    case "StrReplace":
    case "Write":
      return last.isError ? sumUp(turn) : check(turn, last.name === "Write" ? "git status --short" : "git diff --stat");
    default:
      return sumUp(turn);
  }
}

function begin(turn: Turn, wish: Wish): Pass {
  const thought =
    wish.file === undefined
      ? "I look around in the folder before I do anything."
      : `It is about ${wish.file}. I read it first.`;
  const think: Act = { type: "think", text: `The user said: ${oneLine(turn.prompt, 120)}. ${thought}` };
  if (wish.file !== undefined && turn.tools.has("Read")) {
    return [think, say(`I'll have a look at \`${wish.file}\`.`), call("Read", { path: wish.file })];
  }
  if (turn.tools.has("Glob")) {
    return [
      think,
      say("Hello! I am the demo model: I follow a script, without network or key. Let me see what is here."),
      call("Glob", { glob_pattern: "**/*.md" }),
    ];
  }
  if (turn.tools.has("Shell")) return [think, ...check(turn, "ls")];
  return [
    think,
    say(
      "Hello! I am the demo model: I follow a script, without network or key. No tools were offered to me here, so I can only talk.",
    ),
  ];
}

function afterLook(turn: Turn, wish: Wish, look: DoneCall): Pass {
  const file = look.isError ? undefined : chooseFile(look.text);
  if (file !== undefined && turn.tools.has("Read")) {
    return [say(`There is \`${file}\`. I'll read it.`), call("Read", { path: file })];
  }
  return wish.change
    ? writeOwn(turn, "There is nothing to read here, so I'll write a file of my own.")
    : check(turn, "ls");
}

function afterRead(turn: Turn, wish: Wish, read: DoneCall): Pass {
  const path = stringArgument(read, "path") ?? OWN_FILE;
  if (read.isError) {
    if (wish.change && turn.tools.has("Write") && /not found|no such file/i.test(read.text)) {
      const line = addedLine(path, wish.quoted) ?? "";
      return [say(`\`${path}\` does not exist, so I'll create it.`), call("Write", { path, contents: `${line}\n` })];
    }
    return sumUp(turn);
  }
  if (!wish.change) return check(turn, "ls");
  const line = addedLine(path, wish.quoted);
  const content = contentOf(read.text);
  if (line === undefined)
    return writeOwn(turn, `I cannot write a remark into a file like \`${path}\`, so I'll write one of my own.`);
  const edit = content === undefined ? undefined : appendTo(path, content, line);
  if (edit && turn.tools.has("StrReplace")) {
    const change = call("StrReplace", { path, old_string: edit.oldString, new_string: edit.newString });
    return [say(`Now I'll add a line to \`${path}\`.`), change];
  }
  if (content === undefined && turn.tools.has("Write")) {
    return [say(`\`${path}\` is empty, so I'll write its first line.`), call("Write", { path, contents: `${line}\n` })];
  }
  return writeOwn(turn, `I found no place for a line in \`${path}\`, so I'll write a file of my own.`);
}

function writeOwn(turn: Turn, why: string): Pass {
  if (!turn.tools.has("Write")) return check(turn, "ls");
  return [say(why), call("Write", { path: OWN_FILE, contents: OWN_TEXT })];
}

function check(turn: Turn, command: string): Pass {
  if (!turn.tools.has("Shell")) return sumUp(turn);
  return [
    say(`I'll run \`${command}\` to see how things stand.`),
    call("Shell", { command, description: "Show the state of the folder" }),
  ];
}

function sumUp({ done }: Turn): Pass {
  const lines = done.map((one) => `- ${sentence(one)}`);
  const hint = done.some(({ name }) => name === "Write" || name === "StrReplace")
    ? ""
    : "\n\nAsk me to add a line to a file, and I'll show you an edit too.";
  return [say(`That was a whole turn:\n\n${lines.join("\n")}${hint}`)];
}

function sentence(one: DoneCall): string {
  const path = stringArgument(one, "path") ?? "";
  const what: Readonly<Record<string, string>> = {
    Glob: "looked for files",
    Read: `read \`${path}\``,
    StrReplace: `changed \`${path}\``,
    Write: `wrote \`${path}\``,
    Shell: `ran \`${stringArgument(one, "command") ?? ""}\``,
  };
  const did = what[one.name] ?? `used ${one.name}`;
  if (one.isError) return `I tried but could not do this: ${did}. The answer was: ${oneLine(one.text, 160)}`;
  return one.name === "Shell" ? `I ${did}, which gave: ${oneLine(outputOf(one.text), 160) || "nothing"}` : `I ${did}.`;
}

/** What a command printed, without what the tool says about it. */
function outputOf(text: string): string {
  return text.replace(/^(?:Exit code|Duration|Working directory): .*$/gm, "");
}

/** A README before everything else, then the file whose path is shortest. */
function chooseFile(text: string): string | undefined {
  const files = text.split("\n").filter((line) => /^\S.*\.md$/i.test(line));
  const depth = (path: string): number => path.split("/").length;
  const readme = (path: string): number => (/(?:^|\/)readme\.md$/i.test(path) ? 0 : 1);
  return files.toSorted((a, b) => depth(a) - depth(b) || readme(a) - readme(b) || (a < b ? -1 : 1))[0];
}

function say(text: string): Act {
  return { type: "say", text };
}

function call(name: string, args: Readonly<Record<string, string>>): Act {
  return { type: "call", name, arguments: JSON.stringify(args) };
}

function stringArgument(one: DoneCall, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(one.arguments);
    const found = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
    return typeof found === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}

function oneLine(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1).toWellFormed()}…`;
}
