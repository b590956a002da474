import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { StringDecoder } from "node:string_decoder";

export type Channel = "stdout" | "stderr";

/** What a channel said: everything, or its beginning and end when it said too much. */
export interface ChannelText {
  readonly text: string;
  readonly head: string;
  readonly tail: string;
  readonly elidedChars: number;
}

export interface OutputFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly lineCount: number;
}

export interface OutputOptions {
  /** Above this many bytes the whole output goes to the file as well. */
  readonly thresholdBytes: number;
  /** Where the whole output goes when there is too much of it, or when asked. */
  readonly file: string;
}

/** No piece is longer, so that none of them holds up a stream. */
const PIECE_CHARS = 4096;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * The output of one command: bytes in, text out in small pieces that end between characters. Bytes that are no UTF-8
 * become U+FFFD, so that everybody sees the same. Memory is bounded; what is cut lies whole in a file.
 */
export class Output {
  readonly #decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  readonly #texts: { stdout: Bounded; stderr: Bounded };
  readonly #options: OutputOptions;
  #early: string[] = [];
  #bytes = 0;
  #fd: number | undefined;
  #fileBytes = 0;
  #fileLines = 0;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#texts = { stdout: new Bounded(options.thresholdBytes), stderr: new Bounded(options.thresholdBytes) };
  }

  /** Takes bytes of a channel; gives what of them can be shown now. */
  write(channel: Channel, bytes: Uint8Array): string[] {
    return this.#take(channel, this.#decoders[channel].write(Buffer.from(bytes)));
  }

  /** The channel ends: gives what is left of it. */
  end(channel: Channel): string[] {
    return this.#take(channel, this.#decoders[channel].end());
  }

  text(channel: Channel): ChannelText {
    return this.#texts[channel].value();
  }

  /** The file with the whole output, if one was needed. */
  location(): OutputFile | undefined {
    if (this.#fd === undefined) return undefined;
    return { path: this.#options.file, sizeBytes: this.#fileBytes, lineCount: this.#fileLines };
  }

  /** Writes everything so far, and all that comes, to the file. */
  keepFile(): OutputFile {
    if (this.#fd === undefined) {
      mkdirSync(path.dirname(this.#options.file), { recursive: true, mode: 0o700 });
      this.#fd = openSync(this.#options.file, "w", 0o600);
      for (const piece of this.#early) this.#append(piece);
      this.#early = [];
    }
    return { path: this.#options.file, sizeBytes: this.#fileBytes, lineCount: this.#fileLines };
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #take(channel: Channel, text: string): string[] {
    if (text === "") return [];
    const clean = text.toWellFormed();
    this.#texts[channel].add(clean);
    this.#bytes += Buffer.byteLength(clean);
    if (this.#fd !== undefined) this.#append(clean);
    else {
      this.#early.push(clean);
      if (this.#bytes > this.#options.thresholdBytes) this.keepFile();
    }
    return pieces(clean, PIECE_CHARS);
  }

  #append(text: string): void {
    if (this.#fd === undefined || this.#fileBytes > MAX_FILE_BYTES) return;
    this.#fileBytes += writeSync(this.#fd, text);
    this.#fileLines += text.split("\n").length - 1;
  }
}

/** Cuts a text into pieces of at most `size` UTF-16 units (2 where one character needs them), never inside a character. */
export function pieces(text: string, size: number): string[] {
  const out: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + size);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end += end - at > 1 ? -1 : 1;
    out.push(text.slice(at, end));
    at = end;
  }
  return out;
}

/** A text of which the middle is forgotten when it grows over a limit. */
class Bounded {
  readonly #half: number;
  #head = "";
  #tail = "";
  #elided = 0;

  constructor(limit: number) {
    this.#half = Math.max(1, Math.floor(limit / 2));
  }

  add(text: string): void {
    const room = this.#half - this.#head.length;
    const [first = ""] = room > 0 && this.#tail === "" ? pieces(text, room) : [];
    this.#head += first;
    this.#tail += text.slice(first.length);
    // trimmed rarely, so that many small pieces do not copy the tail each time
    if (this.#tail.length > this.#half * 4) this.#trim();
  }

  value(): ChannelText {
    if (this.#tail.length > this.#half) this.#trim();
    if (this.#elided === 0) return { text: this.#head + this.#tail, head: "", tail: "", elidedChars: 0 };
    const text = `${this.#head}\n[… ${this.#elided} characters left out …]\n${this.#tail}`;
    return { text, head: this.#head, tail: this.#tail, elidedChars: this.#elided };
  }

  #trim(): void {
    let cut = this.#tail.length - this.#half;
    const first = this.#tail.charCodeAt(cut);
    if (first >= 0xdc00 && first <= 0xdfff) cut += 1;
    this.#elided += cut;
    this.#tail = this.#tail.slice(cut);
  }
}
