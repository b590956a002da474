import {
  decodeEndStream,
  decodeTrailers,
  FLAG_END_STREAM,
  FLAG_TRAILERS,
  type Frame,
  framePayload,
  FrameReader,
} from "@chartroom/protocol";
import { type ClientFailure, lost, unreadable } from "./failure.ts";
import type { Inbound } from "./transport.ts";

/** Turns the bytes of a downlink into what it brings; after the end or a failure it says nothing more. */
export class InboundReader {
  readonly #reader: FrameReader;
  readonly #listener: (event: Inbound) => void;
  #done = false;
  /** Decompressing takes time; frames keep their order. */
  #queue: Promise<void> = Promise.resolve();

  constructor(grpcWeb: boolean, listener: (event: Inbound) => void) {
    this.#reader = new FrameReader(grpcWeb ? "grpcWeb" : "connect");
    this.#listener = listener;
  }

  get done(): boolean {
    return this.#done;
  }

  opened(): void {
    if (!this.#done) this.#listener({ kind: "opened" });
  }

  push(chunk: Uint8Array): void {
    if (this.#done) return;
    const frames = this.#reader.push(chunk);
    if (!frames.ok) return this.fail(unreadable(frames.error));
    for (const frame of frames.value) this.#enqueue(() => this.#frame(frame));
  }

  /** The bytes have ended; without an end-of-stream frame before, that is a broken connection. */
  ended(): void {
    this.#enqueue(() => {
      const whole = this.#reader.end();
      this.#finish({ kind: "lost", failure: lost(whole.ok ? "the stream ended early" : "the stream broke off") });
      return Promise.resolve();
    });
  }

  /** The connection broke; what came before is still brought. */
  fail(failure: ClientFailure): void {
    this.#enqueue(() => {
      this.#finish({ kind: "lost", failure });
      return Promise.resolve();
    });
  }

  /** An end that came outside the frames (gRPC status in the headers). */
  end(end: Extract<Inbound, { kind: "end" }>["end"]): void {
    this.#enqueue(() => {
      this.#finish({ kind: "end", end });
      return Promise.resolve();
    });
  }

  /** Nobody listens any more. */
  close(): void {
    this.#done = true;
  }

  #enqueue(step: () => Promise<void>): void {
    this.#queue = this.#queue.then(async () => {
      if (!this.#done) await step();
    });
  }

  async #frame(frame: Frame): Promise<void> {
    const payload = await framePayload(frame);
    if (!payload.ok) return this.#finish({ kind: "lost", failure: unreadable(payload.error) });
    if ((frame.flags & (FLAG_END_STREAM | FLAG_TRAILERS)) === 0) {
      if (!this.#done) this.#listener({ kind: "message", bytes: payload.value });
      return;
    }
    const end = (frame.flags & FLAG_TRAILERS) === 0 ? decodeEndStream(payload.value) : decodeTrailers(payload.value);
    this.#finish(end.ok ? { kind: "end", end: end.value } : { kind: "lost", failure: unreadable(end.error) });
  }

  #finish(event: Inbound): void {
    if (this.#done) return;
    this.#done = true;
    this.#listener(event);
  }
}
