import type { ConversationStore } from "@chartroom/domain";
import { StoreError } from "@chartroom/store";

type Call = (...args: unknown[]) => Promise<unknown>;

/** How a node reaches its store: open; held: nothing is answered until it is let through; away; dead: its process is gone. */
export class Tap {
  readonly store: ConversationStore;
  #mode: "open" | "held" | "away" | "dead" = "open";
  readonly #queue: (() => void)[] = [];

  constructor(store: ConversationStore) {
    this.store = new Proxy(store, {
      get: (target, name, receiver) => {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => this.#call(String(name), member as Call, args);
      },
    });
  }

  get mode(): string {
    return this.#mode;
  }
  get waiting(): number {
    return this.#queue.length;
  }

  hold(): void {
    if (this.#mode === "open") this.#mode = "held";
  }
  /** Lets the oldest call through. */
  step(): void {
    if (this.#mode === "held") this.#queue.shift()?.();
  }
  open(): void {
    if (this.#mode === "dead") return;
    this.#mode = "open";
    for (const go of this.#queue.splice(0)) go();
  }
  leave(): void {
    if (this.#mode === "dead") return;
    this.#mode = "away";
    for (const go of this.#queue.splice(0)) go();
  }
  kill(): void {
    this.#mode = "dead";
    this.#queue.length = 0;
  }

  async #call(name: string, member: Call, args: readonly unknown[]): Promise<unknown> {
    if (this.#mode === "held") await new Promise<void>((go) => this.#queue.push(go));
    if (this.#mode === "dead") return new Promise(() => undefined);
    if (this.#mode === "away") {
      if (name === "commit" || name === "activate" || name === "bind") return { kind: "unavailable" };
      throw new StoreError("unavailable", "the database is away");
    }
    return Reflect.apply(member, undefined, args);
  }
}
