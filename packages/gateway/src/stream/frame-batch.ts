const HEADER_BYTES = 5;
/** A payload of this size is written as it is; smaller ones are cheaper to copy than to write one by one. */
const COPY_LIMIT = 32 * 1024;

/** Messages that wait to be written as envelopes, in order. */
export class FrameBatch {
  #messages: Uint8Array[] = [];
  #bytes = 0;

  /** Bytes that `take` will give. */
  get bytes(): number {
    return this.#bytes;
  }

  add(message: Uint8Array): void {
    this.#messages.push(message);
    this.#bytes += HEADER_BYTES + message.byteLength;
  }

  /** Takes everything out as few buffers; a large payload is one of them and is shared with who gave it. */
  take(tail?: Uint8Array): readonly Uint8Array[] {
    const messages = this.#messages;
    const total = this.#bytes + (tail?.byteLength ?? 0);
    this.#messages = [];
    this.#bytes = 0;
    const large = messages.reduce((sum, { byteLength }) => (byteLength >= COPY_LIMIT ? sum + byteLength : sum), 0);
    let joined = Buffer.allocUnsafe(total - large);
    let at = 0;
    const parts: Uint8Array[] = [];
    for (const message of messages) {
      const length = message.byteLength;
      joined[at] = 0;
      joined.writeUInt32BE(length, at + 1);
      at += HEADER_BYTES;
      if (length < COPY_LIMIT) {
        joined.set(message, at);
        at += length;
      } else {
        parts.push(joined.subarray(0, at), message);
        joined = joined.subarray(at);
        at = 0;
      }
    }
    if (tail !== undefined) {
      joined.set(tail, at);
      at += tail.byteLength;
    }
    if (at > 0) parts.push(joined.subarray(0, at));
    return parts;
  }
}
