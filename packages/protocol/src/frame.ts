import { inflate, MAX_MESSAGE_BYTES } from "./gzip.ts";
import { type Decoded, err, ok, type WireError } from "./result.ts";

/** Flag bits of an envelope (wire section 2.4); 0x80 marks the trailers of gRPC-Web. */
export const FLAG_COMPRESSED = 0x01;
export const FLAG_END_STREAM = 0x02;
export const FLAG_TRAILERS = 0x80;

const HEADER_BYTES = 5;

/** An envelope as it came; `payload` may be compressed and may share memory with the chunk it came in. */
export interface Frame {
  readonly flags: number;
  readonly payload: Uint8Array;
}

/**
 * Which flags a stream may use: `request` for what a client sends (messages only), `connect` and `grpcWeb` for what a server sends.
 */
export type FrameDialect = "request" | "connect" | "grpcWeb";
const ALLOWED: Record<FrameDialect, number> = {
  request: FLAG_COMPRESSED,
  connect: FLAG_COMPRESSED | FLAG_END_STREAM,
  grpcWeb: FLAG_COMPRESSED | FLAG_TRAILERS,
};

/** The five bytes before a payload of `length` bytes; for a writer that sends header and payload without joining them. */
export function frameHeader(flags: number, length: number): Uint8Array {
  return Uint8Array.of(flags, length >>> 24, length >>> 16, length >>> 8, length);
}

/** A whole envelope: 1 flag byte, 4 length bytes big-endian, payload. */
export function encodeFrame(flags: number, payload: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + payload.byteLength);
  frame.set(frameHeader(flags, payload.byteLength));
  frame.set(payload, HEADER_BYTES);
  return frame;
}

/** The message in a frame, decompressed if need be; at most `limit` bytes. A compressed frame of no bytes is an empty message. */
export function framePayload(frame: Frame, limit: number = MAX_MESSAGE_BYTES): Promise<Decoded<Uint8Array>> {
  if ((frame.flags & FLAG_COMPRESSED) === 0 || frame.payload.byteLength === 0)
    return Promise.resolve(ok(frame.payload));
  return inflate(frame.payload, limit, "A frame");
}

/**
 * Cuts a byte stream into envelopes, wherever the stream is split. It holds at most one unfinished frame and never
 * allocates ahead of what arrived; a length over the limit is an error as soon as the header is there. After an error
 * or an end-of-stream frame it takes nothing more. Frames before a broken one in the same chunk are lost with the stream.
 */
export class FrameReader {
  readonly #allowed: number;
  readonly #limit: number;
  readonly #header = new Uint8Array(HEADER_BYTES);
  #headerFilled = 0;
  #body = new Uint8Array(0);
  #bodyFilled = 0;
  #failed: WireError | undefined;
  #ended = false;

  constructor(dialect: FrameDialect, limit: number = MAX_MESSAGE_BYTES) {
    this.#allowed = ALLOWED[dialect];
    this.#limit = limit;
  }

  /** The frames that this chunk completes, in order. A payload may share memory with `chunk`. */
  push(chunk: Uint8Array): Decoded<readonly Frame[]> {
    if (this.#failed !== undefined) return err(this.#failed);
    const frames: Frame[] = [];
    let at = 0;
    while (at < chunk.byteLength) {
      if (this.#headerFilled < HEADER_BYTES) {
        const problem = this.#headerByte(chunk[at] ?? 0);
        if (problem !== undefined) return this.#fail(problem);
        at += 1;
        if (this.#headerFilled < HEADER_BYTES || this.#length() > 0) continue;
      }
      const missing = this.#length() - this.#bodyFilled;
      const part = chunk.subarray(at, at + missing);
      at += part.byteLength;
      if (this.#bodyFilled === 0 && part.byteLength === missing) frames.push(this.#finish(part));
      else if (this.#append(part) === this.#length())
        frames.push(this.#finish(this.#body.subarray(0, this.#bodyFilled)));
    }
    return ok(frames);
  }

  /** Says whether the stream may end here: an error when it ends inside a frame. */
  end(): Decoded<undefined> {
    if (this.#failed !== undefined) return err(this.#failed);
    return this.#headerFilled === 0 ? ok(undefined) : this.#fail({ kind: "frame", reason: "truncated" });
  }

  #headerByte(byte: number): WireError | undefined {
    if (this.#ended) return { kind: "frame", reason: "afterEnd" };
    if (this.#headerFilled === 0 && (byte & ~this.#allowed) !== 0) return { kind: "frame", reason: "flags" };
    this.#header[this.#headerFilled] = byte;
    this.#headerFilled += 1;
    if (this.#headerFilled === HEADER_BYTES && this.#length() > this.#limit) {
      return { kind: "tooLarge", what: "A frame", limit: this.#limit };
    }
    return undefined;
  }

  #length(): number {
    const [, a = 0, b = 0, c = 0, d = 0] = this.#header;
    return a * 0x1000000 + (b << 16) + (c << 8) + d;
  }

  #append(part: Uint8Array): number {
    const need = this.#bodyFilled + part.byteLength;
    if (need > this.#body.byteLength) {
      const grown = new Uint8Array(Math.min(this.#length(), Math.max(need, this.#body.byteLength * 2)));
      grown.set(this.#body.subarray(0, this.#bodyFilled));
      this.#body = grown;
    }
    this.#body.set(part, this.#bodyFilled);
    this.#bodyFilled = need;
    return need;
  }

  #finish(payload: Uint8Array): Frame {
    const flags = this.#header[0] ?? 0;
    this.#ended = (flags & (FLAG_END_STREAM | FLAG_TRAILERS)) !== 0;
    this.#reset();
    return { flags, payload };
  }

  #fail(error: WireError): { readonly ok: false; readonly error: WireError } {
    this.#failed = error;
    this.#reset();
    return err(error);
  }

  #reset(): void {
    this.#headerFilled = 0;
    this.#body = new Uint8Array(0);
    this.#bodyFilled = 0;
  }
}
