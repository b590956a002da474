import type { ModelEvent, Usage } from "@chartroom/domain";
import { isObject } from "../http/error-body.ts";
import type { FailureReader } from "../http/failure-reader.ts";
import type { ServerSentEvent } from "../stream/sse.ts";
import type { Translator } from "../stream/translator.ts";
import { CallAssembly } from "./call-assembly.ts";
import { readFinish, type Finish } from "./finish.ts";
import { openAiUsage } from "./usage.ts";

/** Reads a chat completion stream (`chat.completion.chunk` objects, then `[DONE]`). */
export class OpenAiTranslator implements Translator {
  readonly #vendor: string;
  readonly #failures: FailureReader;
  readonly #calls: CallAssembly;
  /** The field in which reasoning comes, while it does. */
  #reasoning: string | undefined;
  #refusal = "";
  #finish: Finish | undefined;
  #raw = "";
  #usage: Usage | undefined;
  #done = false;
  #text = false;

  constructor(vendor: string, failures: FailureReader, toolName: (wire: string) => string) {
    this.#vendor = vendor;
    this.#failures = failures;
    this.#calls = new CallAssembly(toolName);
  }

  get ending(): boolean {
    return this.#finish !== undefined;
  }

  read({ event, data }: ServerSentEvent, out: ModelEvent[]): void {
    if (data === "[DONE]") {
      this.#done = true;
      return this.close(out);
    }
    const chunk: unknown = JSON.parse(data);
    if (!isObject(chunk)) return;
    if (event === "error" || isError(chunk["error"])) {
      out.push({ type: "failed", failure: this.#failures.event(isError(chunk["error"]) ? chunk["error"] : chunk) });
      return;
    }
    this.#usage = openAiUsage(chunk["usage"]) ?? this.#usage;
    if (Array.isArray(chunk["choices"])) for (const choice of chunk["choices"]) this.#choice(choice, out);
  }

  /** Without a finish reason only plain text may count as ended, and only after `[DONE]`: calls might be incomplete. */
  close(out: ModelEvent[]): void {
    if (this.#finish === undefined && (!this.#done || this.#calls.any || !this.#text)) {
      if (this.#done) out.push({ type: "failed", failure: this.#failures.interrupted() });
      return;
    }
    this.#endReasoning(out);
    this.#calls.close(out);
    if (this.#usage) out.push({ type: "usage", usage: this.#usage });
    if (this.#finish?.kind === "broken") {
      out.push({ type: "failed", failure: this.#failures.broken(this.#raw) });
    } else if (this.#refusal !== "") {
      out.push({ type: "failed", failure: this.#failures.refused(this.#refusal) });
    } else {
      out.push({ type: "finished", reason: this.#finish?.reason ?? "stop", raw: this.#raw });
    }
  }

  #choice(choice: unknown, out: ModelEvent[]): void {
    if (!isObject(choice) || (typeof choice["index"] === "number" && choice["index"] !== 0)) return;
    const { delta, finish_reason: raw } = choice;
    if (isObject(delta)) this.#delta(delta, out);
    const finish = readFinish(raw);
    if (finish === undefined) return;
    this.#finish = finish;
    this.#raw = String(raw);
  }

  #delta(delta: Record<string, unknown>, out: ModelEvent[]): void {
    for (const field of ["reasoning_content", "reasoning"]) {
      const text = delta[field];
      if (typeof text !== "string" || text === "") continue;
      // some vendors fill both fields with the same text
      if (this.#reasoning !== undefined && this.#reasoning !== field) continue;
      this.#reasoning = field;
      out.push({ type: "thinking", text });
    }
    const { content, refusal, tool_calls: calls } = delta;
    if (typeof content === "string" && content !== "") {
      this.#endReasoning(out);
      this.#text = true;
      out.push({ type: "text", text: content });
    }
    if (typeof refusal === "string") this.#refusal += refusal;
    if (Array.isArray(calls) && calls.length > 0) {
      this.#endReasoning(out);
      this.#calls.read(calls, out);
    }
  }

  #endReasoning(out: ModelEvent[]): void {
    if (this.#reasoning === undefined) return;
    const data = JSON.stringify({ field: this.#reasoning });
    out.push({ type: "thinkingDone", replay: { vendor: this.#vendor, data } });
    this.#reasoning = undefined;
  }
}

function isError(value: unknown): boolean {
  return isObject(value) || (typeof value === "string" && value !== "");
}
