/** Whether a relative path with `/` between its parts is meant. */
export type PathFilter = (relative: string) => boolean;

/**
 * A glob as ripgrep's `--glob` takes it: `*`, `?`, `[…]`, `{a,b}`, `**`; without a slash it is about names at any
 * depth, with one it starts at the searched folder; a leading `!` turns it round. Several, separated by commas outside
 * braces, all count: a path must match one that includes, if there is any, and none that excludes.
 */
export function compileGlob(text: string): PathFilter {
  const includes: RegExp[] = [];
  const excludes: RegExp[] = [];
  for (const one of splitAlternatives(text)) {
    const glob = one.trim();
    if (glob === "" || glob === "!") continue;
    if (glob.startsWith("!")) excludes.push(toRegExp(glob.slice(1)));
    else includes.push(toRegExp(glob));
  }
  return (relative) =>
    (includes.length === 0 || includes.some((one) => one.test(relative))) &&
    !excludes.some((one) => one.test(relative));
}

function toRegExp(glob: string): RegExp {
  const anchored = glob.slice(0, -1).includes("/");
  const bare = glob.replace(/^\//, "");
  // a folder's name stands for all that it holds
  const tail = bare.endsWith("/") ? ".*" : "(?:/.*)?";
  return new RegExp(`^${anchored ? "" : "(?:.*/)?"}${translate(bare.replace(/\/$/, "/"))}${tail}$`, "su");
}

function translate(glob: string): string {
  let out = "";
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] ?? "";
    if (char === "*") {
      const stars = /^\*+/.exec(glob.slice(at))?.[0].length ?? 1;
      at += stars - 1;
      if (stars === 1) out += "[^/]*";
      else if (glob[at + 1] === "/") {
        at += 1;
        out += "(?:.*/)?";
      } else out += ".*";
    } else if (char === "?") out += "[^/]";
    else if (char === "[") {
      const end = classEnd(glob, at);
      if (end === -1) out += "\\[";
      else {
        out += classOf(glob.slice(at + 1, end));
        at = end;
      }
    } else if (char === "{") {
      const end = braceEnd(glob, at);
      if (end === -1) out += "\\{";
      else {
        const parts = splitAlternatives(glob.slice(at + 1, end));
        out += `(?:${parts.map(translate).join("|")})`;
        at = end;
      }
    } else if (char === "\\" && at + 1 < glob.length) {
      at += 1;
      out += escape(glob[at] ?? "");
    } else out += escape(char);
  }
  return out;
}

function classEnd(glob: string, start: number): number {
  let at = start + 1;
  if (glob[at] === "!" || glob[at] === "^") at += 1;
  if (glob[at] === "]") at += 1;
  return glob.indexOf("]", at);
}

function classOf(body: string): string {
  const negated = body.startsWith("!") || body.startsWith("^");
  const members = (negated ? body.slice(1) : body).replace(/[\\\][^]/g, "\\$&");
  return negated ? `[^/${members}]` : `[${members}]`;
}

function braceEnd(glob: string, start: number): number {
  let depth = 0;
  for (let at = start; at < glob.length; at++) {
    if (glob[at] === "\\") at += 1;
    else if (glob[at] === "{") depth += 1;
    else if (glob[at] === "}" && --depth === 0) return at;
  }
  return -1;
}

/** Parts between commas that are in no braces. */
function splitAlternatives(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "{") depth += 1;
    else if (text[at] === "}") depth -= 1;
    else if (text[at] === "," && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

function escape(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}
