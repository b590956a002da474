/** Characters of one command's output that are kept in memory; what the model is shown is cut further by the projection. */
export const OUTPUT_CHARS = 1_048_576;

/** Collects output in the order in which it comes, and of too much of it the beginning and the end. */
export interface OutputBuffer {
  push(text: string): void;
  /** All of it, or both ends with a note of what is missing between them. */
  text(): string;
  readonly empty: boolean;
}

export function outputBuffer(limit: number = OUTPUT_CHARS): OutputBuffer {
  const half = Math.floor(limit / 2);
  let head = "";
  let tail = "";
  let dropped = 0;
  const trim = () => {
    const from = wholeCharacter(tail, tail.length - half);
    dropped += from;
    tail = tail.slice(from);
  };
  return {
    get empty() {
      return head === "" && tail === "";
    },
    push(text) {
      let rest = text;
      if (tail === "" && head.length < half) {
        const room = wholeCharacter(rest, half - head.length);
        head += rest.slice(0, room);
        rest = rest.slice(room);
      }
      tail += rest;
      // twice the size, so that each character is moved once at most
      if (tail.length > 2 * half) trim();
    },
    text() {
      if (tail.length > half) trim();
      return dropped === 0 ? head + tail : `${head}\n[… ${dropped} characters left out …]\n${tail}`;
    },
  };
}

/** The index, or the one before it when it would cut a surrogate pair. */
function wholeCharacter(text: string, index: number): number {
  if (index <= 0) return 0;
  if (index >= text.length) return text.length;
  return /[\udc00-\udfff]/.test(text[index]!) && /[\ud800-\udbff]/.test(text[index - 1]!) ? index - 1 : index;
}
