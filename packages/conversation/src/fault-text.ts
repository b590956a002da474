/** Errors whose text is made of names in the code, or of nothing that a user said. */
const PLAIN = new Set(["TypeError", "RangeError", "ReferenceError", "StoreError"]);

/**
 * A fault as the log may have it: what and where, never the text of an error that may quote its input (a parser quotes what it
 * could not read).
 */
export function faultText(error: unknown): string {
  if (!(error instanceof Error)) return "something that is no error was thrown";
  const text = PLAIN.has(error.name) ? `${error.name}: ${error.message}` : error.name;
  const frame = error.stack?.split("\n").find((line) => /^\s+at .*\.ts:\d+:\d+\)?$/u.test(line));
  return frame === undefined ? text : `${text} ${frame.trim()}`;
}
