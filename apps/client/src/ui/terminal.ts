import readline from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import { seconds } from "./blocks.ts";
import { edit, EMPTY_LINE, type Key, type Line } from "./line-editor.ts";
import type { Styles } from "./style.ts";
import { fitting, sanitize, shorten, widthOf } from "./text.ts";
import type { Paper } from "./transcript.ts";

const MAX_WIDTH = 100;
const FRAME_MS = 120;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const PROMPT = "› ";
/** Who pressed a key just before is still typing, and does not mean the question that came up meanwhile. */
const TYPING_MS = 700;
const PASTE_ON = "\x1b[?2004h";
const PASTE_OFF = "\x1b[?2004l";

/** Who gets what is typed while nobody waits for a line or a key. */
export interface TypedListener {
  line(text: string): void;
  /** Ctrl-C on an empty line. */
  interrupt(): void;
  /** Ctrl-D on an empty line. */
  end(): void;
}

/** What came of waiting for a line: `interrupt` is Ctrl-C, `end` Ctrl-D or the end of the input. */
export type Read = { readonly kind: "line"; readonly text: string } | { readonly kind: "interrupt" | "end" };

interface Question {
  readonly text: string;
  readonly keys: string;
  readonly resolve: (key: string | undefined) => void;
  /** The user was in the middle of a line when it came up. */
  typing: boolean;
}

/**
 * A terminal: rows scroll away upwards; below them the row under way, what goes on, and the line that is being typed.
 * Only that lower part is ever drawn again.
 */
export class Terminal implements Paper {
  readonly isTerminal = true;
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  readonly #styles: Styles;
  #listener: TypedListener | undefined;
  #line: Line = EMPTY_LINE;
  #prompt = PROMPT;
  #hint = "";
  #question: Question | undefined;
  #reader: ((read: Read) => void) | undefined;
  /** Lines that were sent before anybody waited for them. */
  readonly #ahead: string[] = [];
  #partial: string | undefined;
  #status: { readonly text: string; readonly since: number } | undefined;
  #rows: string[] = [];
  #lastKeyAt = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;
  #drawn = { rows: 0, cursorRow: 0 };
  #frame = 0;
  #scheduled = false;
  #spinner: NodeJS.Timeout | undefined;
  #closed = false;

  /** `now` gives milliseconds that only grow. */
  constructor(input: ReadStream, output: WriteStream, styles: Styles, now: () => number = () => performance.now()) {
    this.#now = now;
    this.#input = input;
    this.#output = output;
    this.#styles = styles;
    readline.emitKeypressEvents(input);
    input.setRawMode(true);
    input.resume();
    input.on("keypress", this.#onKey);
    input.on("end", this.#onEnd);
    output.on("resize", this.#schedule);
    output.write(PASTE_ON);
    this.#schedule();
  }

  get width(): number {
    return Math.max(20, Math.min(MAX_WIDTH, this.#columns));
  }

  listen(listener: TypedListener | undefined): void {
    this.#listener = listener;
  }

  /** Words shown in the empty line. */
  hint(text: string): void {
    this.#hint = text;
    this.#schedule();
  }

  /** Keeps a line for whoever reads the next one. */
  defer(line: string): void {
    this.#ahead.push(line);
  }

  row(text: string): void {
    this.#rows.push(text);
    this.#schedule();
  }

  partial(text: string | undefined): void {
    this.#partial = text;
    this.#schedule();
  }

  status(text: string | undefined): void {
    this.#status = text === undefined ? undefined : { text, since: this.#status?.since ?? this.#now() };
    if (this.#status !== undefined) {
      this.#spinner ??= setInterval(() => {
        this.#frame += 1;
        this.#schedule();
      }, FRAME_MS).unref();
    } else {
      clearInterval(this.#spinner);
      this.#spinner = undefined;
    }
    this.#schedule();
  }

  /** Waits for the next line of the conversation; one that was sent before is the next. */
  read(signal?: AbortSignal): Promise<Read> {
    const ahead = this.#ahead.shift();
    return ahead === undefined ? this.#read(PROMPT, signal) : Promise.resolve({ kind: "line", text: ahead });
  }

  /** Waits for an answer in words; undefined when there is none to be had. */
  async line(prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    const read = await this.#read(prompt, signal);
    return read.kind === "line" ? read.text : undefined;
  }

  #read(prompt: string, signal: AbortSignal | undefined): Promise<Read> {
    return new Promise((resolve) => {
      const done = (read: Read) => {
        signal?.removeEventListener("abort", aborted);
        this.#reader = undefined;
        this.#prompt = PROMPT;
        this.#schedule();
        resolve(read);
      };
      const aborted = () => done({ kind: "end" });
      signal?.addEventListener("abort", aborted, { once: true });
      this.#prompt = prompt;
      this.#reader = done;
      this.#schedule();
      if (this.#closed || signal?.aborted) done({ kind: "end" });
    });
  }

  /** Waits for one of the keys; undefined at Ctrl-C, when the input ends, or when `signal` aborts. */
  key(text: string, keys: string, signal?: AbortSignal): Promise<string | undefined> {
    return new Promise((resolve) => {
      const done = (key: string | undefined) => {
        signal?.removeEventListener("abort", aborted);
        this.#question = undefined;
        this.#schedule();
        resolve(key);
      };
      const aborted = () => done(undefined);
      signal?.addEventListener("abort", aborted, { once: true });
      const typing = this.#line.text !== "" && this.#now() - this.#lastKeyAt < TYPING_MS;
      this.#question = { text, keys, resolve: done, typing };
      this.#schedule();
      if (this.#closed || signal?.aborted) done(undefined);
    });
  }

  /** Gives the terminal back as it was. */
  close(): void {
    if (this.#closed) return;
    this.#draw(true);
    this.#closed = true;
    clearInterval(this.#spinner);
    this.#input.off("keypress", this.#onKey);
    this.#input.off("end", this.#onEnd);
    this.#output.off("resize", this.#schedule);
    this.#input.setRawMode(false);
    this.#input.pause();
    this.#output.write(PASTE_OFF);
  }

  get #columns(): number {
    return this.#output.columns || 80;
  }

  readonly #onEnd = (): void => {
    this.#reader?.({ kind: "end" });
    this.#question?.resolve(undefined);
    this.#listener?.end();
  };

  readonly #onKey = (_chars: string | undefined, key: Key): void => {
    const pause = this.#now() - this.#lastKeyAt;
    this.#lastKeyAt = this.#now();
    if (this.#question !== undefined) {
      if (pause >= TYPING_MS || (key.ctrl && key.name === "c")) this.#question.typing = false;
      if (!this.#question.typing) return this.#answer(this.#question, key);
    }
    const { line, action } = edit(this.#line, key);
    this.#line = line;
    this.#schedule();
    if (action?.kind === "submit") {
      if (this.#reader !== undefined) this.#reader({ kind: "line", text: action.text });
      else if (this.#listener !== undefined) this.#listener.line(action.text);
      else this.#ahead.push(action.text);
    } else if (action?.kind === "interrupt" || action?.kind === "end") {
      if (this.#reader !== undefined) this.#reader(action);
      else if (action.kind === "interrupt") this.#listener?.interrupt();
      else this.#listener?.end();
    }
  };

  #answer(question: Question, key: Key): void {
    if (key.ctrl && key.name === "c") {
      question.resolve(undefined);
      this.#listener?.interrupt();
    } else if (!key.ctrl && !key.meta) {
      const pressed = (key.sequence ?? "").toLowerCase();
      if (pressed !== "" && question.keys.includes(pressed)) question.resolve(pressed);
    }
  }

  readonly #schedule = (): void => {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#closed) this.#draw(false);
    });
  };

  /** Takes the lower part away, writes what scrolls, and puts it back; `last` leaves it away. */
  #draw(last: boolean): void {
    const up = this.#drawn.cursorRow > 0 ? `\x1b[${this.#drawn.cursorRow}A` : "";
    let out = `${up}\r\x1b[J`;
    for (const row of this.#rows.splice(0)) out += `${row}\n`;
    const lower: string[] = [];
    if (this.#partial !== undefined) lower.push(this.#partial);
    if (!last && this.#status !== undefined) lower.push(this.#statusRow());
    const input = last ? { row: "", column: 0 } : this.#inputRow();
    lower.push(input.row);
    out += lower.join("\n");
    out += `\r${input.column > 0 ? `\x1b[${input.column}C` : ""}`;
    this.#drawn = { rows: lower.length, cursorRow: lower.length - 1 };
    this.#output.write(out);
  }

  #statusRow(): string {
    const { text = "", since = 0 } = this.#status ?? {};
    const time = seconds(this.#now() - since).replace(/\.\d/, "");
    const tail = ` · ${time} · Ctrl-C stops`;
    const frame = FRAMES[this.#frame % FRAMES.length] ?? "";
    return this.#styles.dim(`${frame} ${shorten(text, this.width - tail.length - 3)}${tail}`);
  }

  #inputRow(): { row: string; column: number } {
    if (this.#question !== undefined) {
      const text = shorten(this.#question.text, this.#columns - 2);
      return { row: this.#styles.yellow(text), column: widthOf(text) };
    }
    const prompt = shorten(this.#prompt, Math.floor(this.#columns / 2));
    const room = Math.max(4, this.#columns - widthOf(prompt) - 1);
    const before = shown(this.#line.text.slice(0, this.#line.cursor));
    const after = shown(this.#line.text.slice(this.#line.cursor));
    // the part around the cursor, when the line is longer than the row
    const head = widthOf(before) < room ? before : `…${tailFitting(before, room - 2)}`;
    const rest = fitting(after, room - widthOf(head));
    const painted = this.#styles.cyan(prompt);
    if (this.#line.text === "" && this.#hint !== "") {
      return { row: painted + this.#styles.dim(shorten(this.#hint, room)), column: widthOf(prompt) };
    }
    return { row: painted + head + rest, column: widthOf(prompt) + widthOf(head) };
  }
}

function shown(text: string): string {
  return sanitize(text).replaceAll("\n", "↵");
}

function tailFitting(text: string, columns: number): string {
  let tail = "";
  for (const char of [...text].toReversed()) {
    if (widthOf(tail) + widthOf(char) > columns) break;
    tail = char + tail;
  }
  return tail;
}
