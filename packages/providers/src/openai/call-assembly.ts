import type { ModelEvent, ProviderCallId } from "@chartroom/domain";
import { isObject } from "../http/error-body.ts";

interface OpenCall {
  /** Our own number of the call. */
  readonly index: number;
  readonly id: string;
  /** Its name has not come yet; the argument text that has waits for it. */
  named: boolean;
  waiting: string;
}

/**
 * Puts the pieces of parallel tool calls together. Vendors differ: an index may be missing, or be 0 for every call; id and
 * name may come with each piece; arguments may be an object instead of text.
 */
export class CallAssembly {
  readonly #byKey = new Map<string, OpenCall>();
  readonly #name: (wire: string) => string;
  #last: OpenCall | undefined;
  #count = 0;

  constructor(name: (wire: string) => string) {
    this.#name = name;
  }

  get any(): boolean {
    return this.#count > 0;
  }

  /** Takes the `tool_calls` of one delta. */
  read(value: unknown, out: ModelEvent[]): void {
    if (!Array.isArray(value)) return;
    for (const piece of value) if (isObject(piece)) this.#piece(piece, out);
  }

  /** The answer has ended: the last call is complete. */
  close(out: ModelEvent[]): void {
    if (!this.#last) return;
    if (!this.#last.named) this.#open(this.#last, "", out);
    out.push({ type: "callDone", index: this.#last.index });
    this.#last = undefined;
  }

  #piece(piece: Record<string, unknown>, out: ModelEvent[]): void {
    const fn = isObject(piece["function"]) ? piece["function"] : {};
    const id = typeof piece["id"] === "string" ? piece["id"] : "";
    const name = typeof fn["name"] === "string" ? fn["name"] : "";
    const call = this.#call(piece["index"], id, name, out);
    if (!call.named && name !== "") this.#open(call, name, out);
    const { arguments: given } = fn;
    const text = typeof given === "string" ? given : isObject(given) ? JSON.stringify(given) : "";
    if (text === "") return;
    if (call.named) out.push({ type: "callArguments", index: call.index, text });
    else call.waiting += text;
  }

  /** The call that a piece belongs to; a new one when its index is new, or when it brings another id and a name. */
  #call(index: unknown, id: string, name: string, out: ModelEvent[]): OpenCall {
    const key = typeof index === "number" ? `#${index}` : id === "" ? undefined : `id ${id}`;
    const known = key === undefined ? this.#last : this.#byKey.get(key);
    const another = known && id !== "" && known.id !== "" && known.id !== id && name !== "";
    if (known && !another) return known;
    this.close(out);
    const call: OpenCall = { index: this.#count++, id, named: false, waiting: "" };
    this.#byKey.set(key ?? `at ${call.index}`, call);
    this.#last = call;
    return call;
  }

  #open(call: OpenCall, name: string, out: ModelEvent[]): void {
    call.named = true;
    out.push({ type: "call", index: call.index, providerId: call.id as ProviderCallId, name: this.#name(name) });
    if (call.waiting !== "") out.push({ type: "callArguments", index: call.index, text: call.waiting });
    call.waiting = "";
  }
}
