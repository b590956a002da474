/** A piece of a top-level string argument, decoded, as it arrives. */
export interface StreamedPiece {
  readonly name: string;
  readonly text: string;
  /** The closing quote has come: no more of this argument. */
  readonly complete: boolean;
}

/** Reads the top-level string arguments out of JSON that is still being written. */
export interface StreamedFields {
  /** More of the text; gives what of the wanted arguments became readable. Broken JSON gives nothing, never an error. */
  feed(text: string): StreamedPiece[];
  /** The outermost object has been closed. */
  readonly closed: boolean;
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Each character is looked at once, however small the pieces are in which the text comes. */
export function streamedFields(wanted: readonly string[]): StreamedFields {
  let depth = 0;
  let closed = false;
  let inString = false;
  /** A string at depth 1 is a name until a colon makes what follows a value. */
  let afterColon = false;
  let name = "";
  let collected = "";
  /** Text of an escape so far, without the backslash; `undefined` outside of one. */
  let escape: string | undefined;

  const readEscape = (char: string): string | undefined => {
    escape = (escape ?? "") + char;
    if (escape[0] !== "u") return ESCAPES[escape] ?? escape;
    if (escape.length < 5) return undefined;
    return /^u[0-9a-f]{4}$/i.test(escape) ? String.fromCharCode(Number.parseInt(escape.slice(1), 16)) : "\ufffd";
  };

  const readStructure = (char: string): void => {
    if (char === '"') {
      inString = true;
      collected = "";
    } else if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") {
      depth -= 1;
      if (depth === 0) closed = true;
    } else if (char === ":" && depth === 1) afterColon = true;
    else if (char === "," && depth === 1) afterColon = false;
  };

  return {
    get closed() {
      return closed;
    },
    feed(text) {
      const found: StreamedPiece[] = [];
      const isWanted = () => depth === 1 && afterColon && wanted.includes(name);
      const give = (complete: boolean) => {
        // half of a surrogate pair waits for the other half
        const held = !complete && /[\ud800-\udbff]$/.test(collected) ? collected.slice(-1) : "";
        const ready = held === "" ? collected : collected.slice(0, -1);
        if (ready !== "" || complete) found.push({ name, text: ready, complete });
        collected = held;
      };
      for (const char of text.split("")) {
        if (closed) break;
        if (!inString) readStructure(char);
        else if (escape !== undefined) {
          const decoded = readEscape(char);
          if (decoded !== undefined) {
            escape = undefined;
            collected += decoded;
          }
        } else if (char === "\\") escape = "";
        else if (char === '"') {
          inString = false;
          if (isWanted()) give(true);
          else if (depth === 1 && !afterColon) name = collected;
        } else collected += char;
      }
      if (inString && isWanted()) give(false);
      return found;
    },
  };
}
