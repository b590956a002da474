/** What the parser found. Commands inside substitutions, groups and loops are listed like the others. */
export interface ShellScript {
  readonly commands: readonly ShellCommand[];
  readonly redirects: readonly ShellRedirect[];
  readonly substitutes: boolean;
}

export interface ShellCommand {
  /** Without its quotes when all of it is literal; else as written. */
  readonly name: string;
  readonly args: readonly ShellWord[];
  readonly fullText: string;
}

export interface ShellWord {
  readonly type: WordType;
  /** As written. */
  readonly value: string;
}

export type WordType =
  | "word"
  | "string"
  | "raw_string"
  | "ansi_c_string"
  | "simple_expansion"
  | "expansion"
  | "arithmetic_expansion"
  | "command_substitution"
  | "process_substitution"
  | "concatenation";

export interface ShellRedirect {
  readonly operator: string;
  readonly fds: readonly number[];
  readonly target: ShellWord;
}

/** Thrown inside the parser, caught at its door: the text is not one that this parser is sure about. */
export class Unsure extends Error {}

export function unsure(): never {
  throw new Unsure();
}

/** Nesting beyond which nothing sensible is written. */
const MAX_DEPTH = 24;

/** A place in the text, and what was found up to it. */
export class Cursor {
  readonly text: string;
  readonly depth: number;
  at = 0;
  readonly commands: ShellCommand[];
  readonly redirects: ShellRedirect[];
  substitutes = false;
  /** Here-documents whose bodies begin after the next line end. */
  readonly heredocs: { readonly delimiter: string; readonly stripTabs: boolean; readonly quoted: boolean }[] = [];
  /** A line end in here would be the one after which such a body of the text around begins. */
  readonly outerHeredocs: boolean;
  /** Reads commands up to one of these words or signs at the place of a command, which is left; gives how many there were. */
  readonly list: (cursor: Cursor, until: readonly string[]) => number;

  constructor(text: string, list: Cursor["list"], parent?: Cursor) {
    this.text = text;
    this.list = list;
    this.depth = (parent?.depth ?? 0) + 1;
    this.outerHeredocs = parent !== undefined && (parent.outerHeredocs || parent.heredocs.length > 0);
    this.commands = parent?.commands ?? [];
    this.redirects = parent?.redirects ?? [];
    if (this.depth > MAX_DEPTH) unsure();
  }

  get done(): boolean {
    return this.at >= this.text.length;
  }

  peek(length = 1): string {
    return this.text.slice(this.at, this.at + length);
  }

  starts(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  take(text: string): boolean {
    if (!this.starts(text)) return false;
    this.at += text.length;
    return true;
  }

  /** Blanks and continued lines. */
  skipBlanks(): void {
    while (!this.done) {
      if (/[ \t]/.test(this.peek())) this.at += 1;
      else if (!this.take("\\\n")) return;
    }
  }
}
