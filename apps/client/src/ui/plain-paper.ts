import type { Writable } from "node:stream";
import type { Paper } from "./transcript.ts";

const WIDTH = 80;

/** Rows one after the other, for a pipe or a file: 80 columns, no cursor, nothing that changes later. */
export class PlainPaper implements Paper {
  readonly width = WIDTH;
  readonly isTerminal = false;
  readonly #output: Writable;

  constructor(output: Writable) {
    this.#output = output;
  }

  row(text: string): void {
    this.#output.write(`${text}\n`);
  }

  partial(): void {
    // a row appears when it is whole
  }

  status(): void {
    // what goes on is not part of a transcript
  }
}
