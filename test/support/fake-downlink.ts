import type { Downlink, StreamId, Terminal } from "@chartroom/domain";
import { agent, fromBinary, type MessageShape } from "@chartroom/protocol";

export type ServerMessage = MessageShape<typeof agent.AgentServerMessageSchema>;

/** A transport's receiving end that a test can read, fill and lose. */
export class FakeDownlink implements Downlink {
  readonly streamId: StreamId;
  readonly messages: ServerMessage[] = [];
  terminals: Terminal[] = [];
  closed = false;
  /** Cut without a terminal by the conversation. */
  dropped = false;
  /** Called with each message as it comes. */
  onMessage: ((message: ServerMessage) => void) | undefined;
  readonly #lost: (() => void)[] = [];
  readonly #waiting: { test: () => boolean; resolve: () => void }[] = [];

  constructor(streamId: string) {
    this.streamId = streamId as StreamId;
  }

  write(bytes: Uint8Array): boolean {
    if (this.closed) return true;
    const message = fromBinary(agent.AgentServerMessageSchema, bytes);
    this.messages.push(message);
    this.onMessage?.(message);
    this.#check();
    return true;
  }
  end(terminal: Terminal): void {
    if (this.closed) return;
    this.closed = true;
    this.terminals.push(terminal);
    this.#check();
  }
  drop(): void {
    this.dropped = true;
    this.lose();
  }
  onDrain(): void {
    // it never fills
  }
  onLost(listener: () => void): void {
    this.#lost.push(listener);
  }
  /** The connection breaks. */
  lose(): void {
    this.closed = true;
    for (const listener of this.#lost) listener();
  }

  /** Resolves once `test` holds; looked at with each message and the terminal. */
  until(test: () => boolean): Promise<void> {
    if (test()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ test, resolve }));
  }
  ended(): Promise<void> {
    return this.until(() => this.terminals.length > 0);
  }
  get text(): string {
    return this.messages
      .map((message) =>
        message.message.case === "interactionUpdate" && message.message.value.message.case === "textDelta"
          ? message.message.value.message.value.text
          : "",
      )
      .join("");
  }
  /** The texts in which the server speaks for itself; `text` has them too. */
  get notices(): readonly string[] {
    return this.messages.flatMap(({ message }) =>
      message.case === "interactionUpdate" &&
      message.value.message.case === "textDelta" &&
      message.value.message.value.isServerNotice
        ? [message.value.message.value.text]
        : [],
    );
  }
  /** The messages by name, as `interactionUpdate.textDelta`. */
  get kinds(): readonly string[] {
    return this.messages.map(({ message }) =>
      message.case === "interactionUpdate" || message.case === "kvServerMessage" || message.case === "execServerMessage"
        ? `${message.case}.${message.value.message.case ?? ""}`
        : (message.case ?? ""),
    );
  }

  #check(): void {
    for (const waiting of [...this.#waiting]) {
      if (!waiting.test()) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.resolve();
    }
  }
}
