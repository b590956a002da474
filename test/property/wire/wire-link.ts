import type { Terminal } from "@chartroom/domain";
import {
  agent,
  type Decoded,
  decodeEndStream,
  FLAG_END_STREAM,
  FrameReader,
  fromBinary,
  type StreamEnd,
} from "@chartroom/protocol";
import type { OpenCall } from "../../support/gateway/peer.ts";
import { type Frame, frameOf, type Link } from "../lifecycle/sim-downlink.ts";
import { terminalOf } from "./ends.ts";

export interface LinkListener {
  /** Bytes came, or the connection ended. */
  traffic(): void;
  frame(frame: Frame): void;
  ended(terminal: Terminal): void;
  /** Something that no stream may bring. */
  wrong(what: string): void;
}

/** A downlink over a socket. */
export class WireLink implements Link {
  readonly frames: Frame[] = [];
  readonly call: OpenCall;
  closed = false;
  terminal: Terminal | undefined;
  readonly #listener: LinkListener;

  constructor(call: OpenCall, listener: LinkListener) {
    this.call = call;
    this.#listener = listener;
    call.up.on("error", () => undefined);
    void this.#read().then(
      () => this.#over(),
      () => this.#over(),
    );
  }

  lose(): void {
    if (this.closed) return;
    this.closed = true;
    this.call.abort();
  }
  /** Nobody reads it any more; its connection is the process's to close. */
  vanish(): void {
    this.closed = true;
  }

  async #read(): Promise<void> {
    const { status, down } = await this.call.head;
    this.#listener.traffic();
    if (status !== 200) this.#listener.wrong(`a stream was answered with status ${status}`);
    const reader = new FrameReader("connect");
    for await (const chunk of down) {
      this.#listener.traffic();
      if (!this.closed || this.terminal) this.#take(reader, chunk as Uint8Array);
    }
  }

  #take(reader: FrameReader, chunk: Uint8Array): void {
    const frames = reader.push(chunk);
    if (!frames.ok) return this.#listener.wrong(`bytes that are no frames: ${JSON.stringify(frames.error)}`);
    for (const { flags, payload } of frames.value) {
      if (this.terminal) return this.#listener.wrong("1: a frame after the terminal");
      if (flags === FLAG_END_STREAM) this.#end(decodeEndStream(payload));
      else this.#frame(frameOf(fromBinary(agent.AgentServerMessageSchema, payload)));
    }
  }

  #frame(frame: Frame): void {
    this.frames.push(frame);
    this.#listener.frame(frame);
  }

  #end(end: Decoded<StreamEnd>): void {
    const terminal = end.ok ? terminalOf(end.value) : undefined;
    if (!terminal)
      return this.#listener.wrong(`1: an end that the specification does not know: ${JSON.stringify(end)}`);
    this.closed = true;
    this.terminal = terminal;
    this.#listener.ended(terminal);
  }

  #over(): void {
    this.closed = true;
    this.#listener.traffic();
  }
}
