import type { ClientFailure } from "./failure.ts";
import type { UnaryAnswer } from "./transport.ts";

/** In flight at once (wire section 3). */
const MAX_IN_FLIGHT = 16;
const BASE_DEADLINE_MS = 60_000;
const BYTES_PER_SECOND = 131_072;

/** Sends one append with its number; `deadlineMs` is how long it may take. */
export type SendAppend = (message: Uint8Array, seqno: number, deadlineMs: number) => Promise<UnaryAnswer>;

/**
 * The uplink of a run over HTTP/1.1: numbers messages from 0 and keeps several in flight (wire section 3). The first
 * append that fails ends the uplink, because the server waits for every number.
 */
export class AppendQueue {
  readonly #send: SendAppend;
  readonly #failed: (failure: ClientFailure) => void;
  readonly #waiting: Uint8Array[] = [];
  #nextSeqno = 0;
  #inFlight = 0;
  #closed = false;

  constructor(send: SendAppend, failed: (failure: ClientFailure) => void) {
    this.#send = send;
    this.#failed = failed;
  }

  push(message: Uint8Array): void {
    if (this.#closed) return;
    this.#waiting.push(message);
    this.#pump();
  }

  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
  }

  #pump(): void {
    while (this.#inFlight < MAX_IN_FLIGHT) {
      const message = this.#waiting.shift();
      if (message === undefined) return;
      void this.#one(message, this.#nextSeqno++);
    }
  }

  async #one(message: Uint8Array, seqno: number): Promise<void> {
    this.#inFlight += 1;
    // hex doubles the size
    const deadlineMs = BASE_DEADLINE_MS + Math.ceil((message.length * 2 * 1000) / BYTES_PER_SECOND);
    const answer = await this.#send(message, seqno, deadlineMs);
    this.#inFlight -= 1;
    if (this.#closed) return;
    if (answer.ok) return this.#pump();
    this.close();
    this.#failed(answer.failure);
  }
}
