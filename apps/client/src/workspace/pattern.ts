export interface PatternOptions {
  readonly caseInsensitive: boolean;
  /** The pattern may span lines; `.` matches line ends. */
  readonly multiline: boolean;
}

export type Pattern = { readonly ok: true; readonly regex: RegExp } | { readonly ok: false; readonly error: string };

const POSIX: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: " \\t",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\s",
  upper: "A-Z",
  word: "\\w",
  xdigit: "0-9A-Fa-f",
};

/** A pattern in ripgrep's syntax as a regular expression of the platform; what only ripgrep writes is rewritten. */
export function compilePattern(source: string, options: PatternOptions): Pattern {
  const inline = /^\(\?([ims]+)\)/.exec(source);
  const flags = new Set(["g", ...(inline?.[1] ?? "")]);
  if (options.caseInsensitive) flags.add("i");
  if (options.multiline) flags.add("m").add("s");
  const body = rewrite(source.slice(inline?.[0].length ?? 0));
  const chosen = [...flags].join("");
  try {
    return { ok: true, regex: new RegExp(body, `${chosen}u`) };
  } catch {
    // without `u` a lone brace or bracket is taken literally, as people mean it
    try {
      return { ok: true, regex: new RegExp(body, chosen) };
    } catch (error) {
      return { ok: false, error: error instanceof Error ? error.message : String(error) };
    }
  }
}

function rewrite(source: string): string {
  let out = "";
  let inClass = false;
  let members = 0;
  for (let at = 0; at < source.length; at++) {
    const rest = source.slice(at);
    const char = source[at] ?? "";
    const posix = inClass ? /^\[:(\w+):\]/.exec(rest) : null;
    const named = posix ? POSIX[posix[1] ?? ""] : undefined;
    if (posix && named !== undefined) {
      out += named;
      at += posix[0].length - 1;
    } else if (char === "\\") {
      at += 1;
      out += escaped(source[at] ?? "", inClass);
    } else if (!inClass && rest.startsWith("(?P<")) {
      out += "(?<";
      at += 3;
    } else if (char === "[" && !inClass) {
      inClass = true;
      const open = source[at + 1] === "^" ? "[^" : "[";
      at += open.length - 1;
      out += open;
      members = at + 1;
    } else if (char === "]" && inClass && at === members) {
      out += "\\]";
    } else {
      if (char === "]") inClass = false;
      out += char;
    }
  }
  return out;
}

function escaped(char: string, inClass: boolean): string {
  if (char === "") return "\\\\";
  if (!inClass && char === "A") return "^";
  if (!inClass && char === "z") return "$";
  if (!inClass && (char === "<" || char === ">")) return "\\b";
  if (/[\w^$\\.*+?()[\]{}|/]/.test(char) || (inClass && char === "-")) return `\\${char}`;
  return char;
}
