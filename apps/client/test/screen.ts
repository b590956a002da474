import { PassThrough, Writable } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";

/** As much of a terminal as the client uses: rows, a cursor, moving up and right, clearing below. */
export class Screen {
  readonly columns: number;
  readonly input = new PassThrough();
  readonly output: Writable & { columns: number };
  raw = false;
  #rows: string[] = [""];
  #row = 0;
  #column = 0;

  constructor(columns = 40) {
    this.columns = columns;
    const write = (chunk: Buffer, _encoding: BufferEncoding, done: () => void) => {
      this.#write(chunk.toString());
      done();
    };
    this.output = Object.assign(new Writable({ write }), { columns });
  }

  get stdin(): ReadStream {
    const setRawMode = (raw: boolean) => {
      this.raw = raw;
      return this.input;
    };
    return Object.assign(this.input, { setRawMode }) as unknown as ReadStream;
  }

  get stdout(): WriteStream {
    return this.output as unknown as WriteStream;
  }

  /** Types, as a keyboard does. */
  type(keys: string): void {
    this.input.write(keys);
  }

  /** What is seen, without empty rows at the end. */
  get text(): string {
    return this.#rows.join("\n").trimEnd();
  }

  get cursor(): { row: number; column: number } {
    return { row: this.#row, column: this.#column };
  }

  #write(text: string): void {
    // oxlint-disable-next-line no-control-regex
    for (const [piece] of text.matchAll(/\x1b\[\??[\d;]*[A-Za-z]|[^]/gu)) this.#piece(piece);
  }

  #piece(piece: string): void {
    // oxlint-disable-next-line no-control-regex
    const [, amount = "", command = ""] = /^\x1b\[(\??[\d;]*)([A-Za-z])$/.exec(piece) ?? [];
    const count = Number(amount === "" ? "1" : amount);
    if (command === "A") this.#row -= count;
    else if (command === "C") this.#column += count;
    else if (command === "J") {
      this.#rows.length = this.#row + 1;
      this.#rows[this.#row] = (this.#rows[this.#row] ?? "").slice(0, this.#column);
    } else if (command !== "") return;
    else if (piece === "\r") this.#column = 0;
    else if (piece === "\n") {
      this.#row += 1;
      this.#column = 0;
      this.#rows[this.#row] ??= "";
    } else {
      const row = this.#rows[this.#row] ?? "";
      this.#rows[this.#row] = row.slice(0, this.#column).padEnd(this.#column) + piece + row.slice(this.#column + 1);
      this.#column += 1;
      if (this.#column > this.columns)
        throw new Error(`a row is longer than ${this.columns}: ${this.#rows[this.#row]}`);
    }
  }
}
