import type { FinishReason, ModelEvent, ProviderCallId } from "@chartroom/domain";
import { isObject } from "../http/error-body.ts";
import type { FailureReader } from "../http/failure-reader.ts";
import type { ServerSentEvent } from "../stream/sse.ts";
import type { Translator } from "../stream/translator.ts";
import { readUsage, toUsage, type RawUsage } from "./usage.ts";

/** A content block that is open, by the vendor's index. */
type OpenBlock =
  | { readonly type: "text" }
  | { readonly type: "thinking"; signature: string }
  | { readonly type: "redacted"; readonly data: string }
  | { readonly type: "call"; readonly index: number; readonly input: unknown; fed: boolean };

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "toolCalls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
};

/** Reads a messages stream; complete only with `message_stop`. Events and blocks of unknown types are passed over. */
export class AnthropicTranslator implements Translator {
  readonly #vendor: string;
  readonly #failures: FailureReader;
  readonly #toolName: (wire: string) => string;
  readonly #blocks = new Map<number, OpenBlock>();
  #calls = 0;
  #stopReason: string | undefined;
  #refusal = "";
  #usage: RawUsage = {};
  readonly ending = false;

  constructor(vendor: string, failures: FailureReader, toolName: (wire: string) => string) {
    this.#vendor = vendor;
    this.#failures = failures;
    this.#toolName = toolName;
  }

  read({ event, data }: ServerSentEvent, out: ModelEvent[]): void {
    const value: unknown = JSON.parse(data);
    if (!isObject(value)) return;
    const index = typeof value["index"] === "number" ? value["index"] : 0;
    switch (value["type"] ?? event) {
      case "content_block_delta":
        return this.#delta(index, value["delta"], out);
      case "content_block_start":
        return this.#start(index, value["content_block"], out);
      case "content_block_stop":
        return this.#stop(index, out);
      case "message_start":
        if (isObject(value["message"])) this.#count(value["message"]["usage"], out);
        return;
      case "message_delta":
        return this.#messageDelta(value, out);
      case "message_stop":
        return this.#finish(out);
      case "error":
        out.push({ type: "failed", failure: this.#failures.event(value["error"] ?? value) });
    }
  }

  close(): void {
    // only message_stop ends an answer
  }

  #start(index: number, block: unknown, out: ModelEvent[]): void {
    if (!isObject(block)) return;
    switch (block["type"]) {
      case "text":
        this.#blocks.set(index, { type: "text" });
        return text(block["text"], out);
      case "thinking":
        this.#blocks.set(index, { type: "thinking", signature: string(block["signature"]) });
        return thinking(block["thinking"], out);
      case "redacted_thinking":
        this.#blocks.set(index, { type: "redacted", data: string(block["data"]) });
        return;
      case "tool_use": {
        const call = { type: "call", index: this.#calls++, input: block["input"], fed: false } as const;
        this.#blocks.set(index, { ...call });
        const providerId = string(block["id"]) as ProviderCallId;
        out.push({ type: "call", index: call.index, providerId, name: this.#toolName(string(block["name"])) });
      }
    }
  }

  #delta(index: number, delta: unknown, out: ModelEvent[]): void {
    if (!isObject(delta)) return;
    const block = this.#blocks.get(index);
    switch (delta["type"]) {
      case "text_delta":
        return text(delta["text"], out);
      case "thinking_delta":
        return thinking(delta["thinking"], out);
      case "signature_delta":
        if (block?.type === "thinking") block.signature += string(delta["signature"]);
        return;
      case "input_json_delta": {
        const json = string(delta["partial_json"]);
        if (block?.type !== "call" || json === "") return;
        block.fed = true;
        out.push({ type: "callArguments", index: block.index, text: json });
      }
    }
  }

  #stop(index: number, out: ModelEvent[]): void {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.type === "thinking") this.#thinkingDone({ signature: block.signature }, out);
    if (block?.type === "redacted") this.#thinkingDone({ redacted: block.data }, out);
    if (block?.type !== "call") return;
    // some relays give the whole input at the start
    if (!block.fed && isObject(block.input) && Object.keys(block.input).length > 0) {
      out.push({ type: "callArguments", index: block.index, text: JSON.stringify(block.input) });
    }
    out.push({ type: "callDone", index: block.index });
  }

  #thinkingDone(data: { readonly signature: string } | { readonly redacted: string }, out: ModelEvent[]): void {
    out.push({ type: "thinkingDone", replay: { vendor: this.#vendor, data: JSON.stringify(data) } });
  }

  #messageDelta(value: Record<string, unknown>, out: ModelEvent[]): void {
    const { delta } = value;
    if (isObject(delta)) {
      if (typeof delta["stop_reason"] === "string") this.#stopReason = delta["stop_reason"];
      if (isObject(delta["stop_details"])) this.#refusal = string(delta["stop_details"]["explanation"]);
    }
    this.#count(value["usage"], out);
  }

  #count(value: unknown, out: ModelEvent[]): void {
    if (!isObject(value)) return;
    this.#usage = readUsage(value, this.#usage);
    out.push({ type: "usage", usage: toUsage(this.#usage) });
  }

  #finish(out: ModelEvent[]): void {
    // a block that was never closed is cut, and so is its call
    if ([...this.#blocks.values()].some(({ type }) => type === "call")) {
      out.push({ type: "failed", failure: this.#failures.interrupted() });
      return;
    }
    const raw = this.#stopReason ?? "";
    const reason = REASONS[raw] ?? (this.#calls > 0 ? "toolCalls" : "stop");
    if (reason === "refusal" && this.#refusal !== "") {
      out.push({ type: "failed", failure: this.#failures.refused(this.#refusal) });
    } else out.push({ type: "finished", reason, raw });
  }
}

function text(value: unknown, out: ModelEvent[]): void {
  if (typeof value === "string" && value !== "") out.push({ type: "text", text: value });
}

function thinking(value: unknown, out: ModelEvent[]): void {
  if (typeof value === "string" && value !== "") out.push({ type: "thinking", text: value });
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}
