import {
  type CallHeaders,
  decodeUplink,
  type Frame,
  FrameReader,
  framePayload,
  wireFailure,
} from "@chartroom/protocol";
import type { UplinkMessage } from "@chartroom/domain";
import type { Exchange } from "../exchange/exchange.ts";
import type { GenerationRecord } from "../exchange/generation.ts";
import { Serial } from "../exchange/serial.ts";
import type { GatewayLimits } from "../limits.ts";
import type { Transport } from "../stream/transport.ts";
import { digestOf } from "./bidi-append.ts";

/**
 * The uplink of a `Run` stream: cuts it into messages and hands them over in their order. The stream's first Run
 * request gives it its generation; all that follows belongs to that one, whatever becomes of the request id meanwhile.
 */
export class StreamUplink {
  /** Called when more waits for its receipts than should, and when there is room again. */
  onCrowded: (() => void) | undefined;
  onRoom: (() => void) | undefined;
  readonly #exchange: Exchange;
  readonly #transport: Transport;
  readonly #headers: CallHeaders;
  readonly #limits: GatewayLimits;
  readonly #reader: FrameReader;
  readonly #frames = new Serial();
  #record: GenerationRecord | undefined;
  #hasRun = false;
  /** An opening that is with the conversation: what follows it waits. */
  #gate: Promise<unknown> | undefined;
  #messages = 0;
  #bytes = 0;
  #crowded = false;

  constructor(exchange: Exchange, transport: Transport, headers: CallHeaders, limits: GatewayLimits) {
    this.#exchange = exchange;
    this.#transport = transport;
    this.#headers = headers;
    this.#limits = limits;
    this.#reader = new FrameReader("request", limits.messageBytes);
  }

  /** Takes bytes as they come. What cannot be read ends the stream with an error. */
  push(chunk: Uint8Array): void {
    const frames = this.#reader.push(chunk);
    if (!frames.ok) return this.#transport.fail(wireFailure(frames.error));
    for (const frame of frames.value) this.#enqueue(frame);
  }

  /** The client has closed its side; the stream goes on. */
  end(): void {
    const end = this.#reader.end();
    if (!end.ok) this.#transport.fail(wireFailure(end.error));
  }

  #enqueue(frame: Frame): void {
    const size = frame.payload.byteLength;
    this.#count(1, size);
    void this.#frames.run(async () => {
      const payload = await framePayload(frame, this.#limits.messageBytes);
      if (this.#transport.open) {
        if (payload.ok) this.#message(payload.value);
        else this.#transport.fail(wireFailure(payload.error));
      }
      this.#count(-1, -size);
    });
  }

  #message(raw: Uint8Array): void {
    const message = decodeUplink(raw);
    if (!message.ok) return this.#transport.fail(wireFailure(message.error));
    if (message.value.kind === "run" || message.value.kind === "prewarm") this.#open(message.value, raw);
    else if (this.#gate === undefined) this.#deliver(message.value, raw.byteLength);
    else this.#afterGate(message.value, raw.byteLength);
  }

  /** A stream carries one Run: a prewarm may come before its request, nothing else opens one. */
  #open(message: Extract<UplinkMessage, { kind: "run" | "prewarm" }>, raw: Uint8Array): void {
    if (this.#hasRun || (message.kind === "prewarm" && this.#gate !== undefined)) {
      this.#exchange.drop(this.#record, "second opening on one stream");
      return;
    }
    this.#hasRun = message.kind === "run";
    this.#count(1, raw.byteLength);
    const opening = { message, headers: this.#headers, digest: digestOf(raw), transport: this.#transport };
    const { decided, answer } = this.#exchange.open(opening);
    void decided.then(() => (this.#record = this.#exchange.current));
    const gate = answer.then(() => {
      this.#count(-1, -raw.byteLength);
      if (this.#gate === gate) this.#gate = undefined;
    });
    this.#gate = gate;
  }

  #afterGate(message: Exclude<UplinkMessage, { kind: "run" | "prewarm" }>, size: number): void {
    this.#count(1, size);
    void this.#gate?.then(() => {
      this.#count(-1, -size);
      this.#deliver(message, size);
    });
  }

  #deliver(message: Exclude<UplinkMessage, { kind: "run" | "prewarm" }>, size: number): void {
    if (message.kind === "heartbeat") return;
    if (this.#record === undefined) {
      this.#exchange.drop(undefined, "message before the opening of its stream");
      return;
    }
    this.#count(1, size);
    void this.#exchange.deliver(message, this.#headers, this.#record).then((failure) => {
      this.#count(-1, -size);
      // there is no answer to fail: a message that could not be kept is told by ending the stream
      if (failure?.retryable === true) this.#transport.fail(failure);
    });
  }

  #count(messages: number, bytes: number): void {
    this.#messages += messages;
    this.#bytes += bytes;
    const crowded = this.#messages > this.#limits.uplinkMessages || this.#bytes > this.#limits.uplinkBytes;
    if (crowded === this.#crowded) return;
    this.#crowded = crowded;
    (crowded ? this.onCrowded : this.onRoom)?.();
  }
}
