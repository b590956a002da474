/**
 * The same JSON text with a line for each field of its object and for each element of the lists in it, to be read and compared by
 * people. Without its line breaks it is the text again, so long as that has none.
 */
export function onLines(json: string): string {
  let out = "";
  /** What is open: `{` and `[`, outermost first. */
  const open: string[] = [];
  let quoted = false;
  for (let at = 0; at < json.length; at += 1) {
    const letter = json[at]!;
    const list = open.length === 2 && open[1] === "[";
    if (letter === "]" && list) out += "\n";
    out += letter;
    if (quoted) {
      if (letter === "\\") out += json[(at += 1)]!;
      else if (letter === '"') quoted = false;
      continue;
    }
    if (letter === '"') quoted = true;
    else if (letter === "]" || letter === "}") open.pop();
    else if (letter === "," && (open.length === 1 || list)) out += "\n";
    else if (letter === "{" || letter === "[") {
      open.push(letter);
      if (letter === "[" && open.length === 2) out += "\n";
    }
  }
  return out;
}
