import { fitting, sanitize, widthOf } from "./text.ts";

/** How a kind of running text is set. */
export interface Look {
  readonly prefix: string;
  readonly paint: (text: string) => string;
}

export interface FlowOutput {
  /** A row that will not change any more. */
  row(text: string): void;
  /** The row that is being written; undefined when there is none. */
  partial(text: string | undefined): void;
}

const LONGEST_INDENT = 12;

/**
 * Sets running text in rows while it streams in: breaks between words, continues list items under their text, leaves
 * code between fences as it is. Text of others is made harmless here.
 */
export class Flow {
  readonly #output: FlowOutput;
  readonly #width: () => number;
  /** Whether a word that is too long may be cut; where lines may be long (a pipe), it is not. */
  readonly #cutWords: boolean;
  #look: Look | undefined;
  #row = "";
  #indent = "";
  #inCode = false;
  #begun = false;

  constructor(output: FlowOutput, width: () => number, cutWords: boolean) {
    this.#output = output;
    this.#width = width;
    this.#cutWords = cutWords;
  }

  /** Adds text; another look begins on a new row. */
  write(text: string, look: Look): void {
    if (text === "") return;
    if (this.#look !== look) this.end();
    this.#look = look;
    this.#begun = true;
    const lines = sanitize(text).split("\n");
    for (const [index, line] of lines.entries()) {
      if (index > 0) this.#finishLine();
      this.#row += line;
      this.#break();
    }
    this.#output.partial(this.#row === "" ? undefined : this.#set(this.#row));
  }

  /** Ends the row that is being written, if there is one. */
  end(): void {
    if (this.#row !== "") this.#finishLine();
    this.#indent = "";
    this.#inCode = false;
    this.#look = undefined;
    this.#begun = false;
    this.#output.partial(undefined);
  }

  /** Something was written since the last end. */
  get begun(): boolean {
    return this.#begun;
  }

  #finishLine(): void {
    if (/^\s*```/.test(this.#row)) this.#inCode = !this.#inCode;
    this.#output.row(this.#set(this.#row).trimEnd());
    this.#row = "";
    this.#indent = "";
  }

  #break(): void {
    const room = this.#width() - widthOf(this.#look?.prefix ?? "");
    if (this.#inCode && !this.#cutWords) return;
    while (widthOf(this.#row) > room) {
      const at = this.#inCode ? fitting(this.#row, room).length : this.#breakAt(room);
      if (at <= 0) return;
      if (this.#indent === "") this.#indent = indentOf(this.#row, room);
      this.#output.row(this.#set(this.#row.slice(0, at)).trimEnd());
      const rest = this.#row.slice(at);
      this.#row = this.#indent + (this.#inCode ? rest : rest.trimStart());
    }
  }

  /** Where to break a row that is too long: behind its last word that fits, in the word if it must be; 0: not at all. */
  #breakAt(room: number): number {
    const fits = fitting(this.#row, room + 1).length;
    const space = this.#row.lastIndexOf(" ", fits - 1);
    if (space > indentOf(this.#row, room).length) return space;
    if (this.#cutWords) return fitting(this.#row, room).length;
    const next = this.#row.indexOf(" ", fits);
    return next;
  }

  #set(row: string): string {
    return (this.#look?.prefix ?? "") + (this.#look?.paint(row) ?? row);
  }
}

/** Spaces under the text of a list item or an indented line. */
function indentOf(row: string, room: number): string {
  const lead = /^\s*(?:(?:[-*+•]|\d+[.)])\s+)?/.exec(row)?.[0] ?? "";
  return " ".repeat(Math.min(lead.length, LONGEST_INDENT, Math.max(0, room - 20)));
}
