/** A change of a file that is known to be possible. */
export interface Edit {
  readonly oldString: string;
  readonly newString: string;
}

type Style = "prose" | "//" | "#" | "--" | "<!--" | "/*";

const STYLES: Readonly<Record<string, Style>> = {
  ...styles("prose", "md markdown mdx txt rst adoc text"),
  ...styles("//", "js mjs cjs jsx ts mts cts tsx java kt go rs c h cc cpp hpp cs swift scala dart php groovy proto"),
  ...styles("#", "py rb sh bash zsh yml yaml toml pl r ps1 tf conf cfg gitignore dockerfile makefile"),
  ...styles("--", "sql lua hs"),
  ...styles("<!--", "html htm xml svg vue"),
  ...styles("/*", "css scss less"),
};

function styles(style: Style, extensions: string): Record<string, Style> {
  return Object.fromEntries(extensions.split(" ").map((extension) => [extension, style]));
}

const NOTE = "Edited by Chartroom's demo model.";

/** The line that an edit adds: what the prompt has in quotation marks, or a remark in the file's own kind of comment. */
export function addedLine(path: string, quoted: string | undefined): string | undefined {
  if (quoted !== undefined) return quoted;
  const style = styleOf(path);
  if (style === undefined) return undefined;
  if (style === "prose") return NOTE;
  if (style === "<!--") return `<!-- ${NOTE} -->`;
  return style === "/*" ? `/* ${NOTE} */` : `${style} ${NOTE}`;
}

/** Puts a line behind the last line that stands in the file only once; `undefined` when there is none. */
export function appendTo(path: string, content: string, line: string): Edit | undefined {
  const place = content.split("\n").findLast((text) => text.trim() !== "" && content.split(text).length === 2);
  if (place === undefined) return undefined;
  const gap = styleOf(path) === "prose" ? "\n\n" : "\n";
  return { oldString: place, newString: `${place}${gap}${line}` };
}

/** The text of a file from what Read tells, without its line numbers; `undefined` when that is no numbered text. */
export function contentOf(readText: string): string | undefined {
  const lines = readText.split("\n").flatMap((line) => {
    const numbered = /^\s*\d+\|(.*)$/.exec(line);
    return numbered ? [numbered[1]!] : [];
  });
  return lines.length === 0 ? undefined : lines.join("\n");
}

function styleOf(path: string): Style | undefined {
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1).toLowerCase();
  return STYLES[name.slice(name.lastIndexOf(".") + 1)];
}
