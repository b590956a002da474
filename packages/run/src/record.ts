import type {
  AssistantBlock,
  AssistantRecord,
  ModelCallId,
  ProviderCallId,
  ReplayState,
  StreamedCall,
  ToolCallId,
  ToolCallRecord,
} from "@chartroom/domain";
import { readArguments } from "./arguments.ts";

interface OpenCall {
  readonly index: number;
  readonly providerId: ProviderCallId;
  readonly call: StreamedCall;
  text: string;
}

type OpenBlock =
  | { readonly type: "text"; text: string }
  | { readonly type: "thinking"; text: string; replay?: ReplayState };

export interface StepRecordInput {
  readonly modelCallId: ModelCallId;
  readonly step: number;
  readonly newCallId: () => ToolCallId;
}

/** What one model pass has given so far; grows with its stream. */
export class StepRecord {
  readonly #input: StepRecordInput;
  readonly #blocks: OpenBlock[] = [];
  readonly #calls = new Map<number, OpenCall>();
  readonly #providerIds = new Set<string>();
  /** The thinking block that still grows. */
  #thinking: { readonly type: "thinking"; text: string; replay?: ReplayState } | undefined;
  #shown = false;

  constructor(input: StepRecordInput) {
    this.#input = input;
  }

  /** Something visible has come: text, thinking or a call. */
  get shown(): boolean {
    return this.#shown;
  }

  get hasCalls(): boolean {
    return this.#calls.size > 0;
  }

  text(text: string): void {
    this.#shown = true;
    const last = this.#blocks.at(-1);
    if (last?.type === "text") last.text += text;
    else this.#blocks.push({ type: "text", text });
  }

  thinking(text: string): void {
    this.#shown = true;
    if (this.#thinking) {
      this.#thinking.text += text;
      return;
    }
    this.#thinking = { type: "thinking", text };
    this.#blocks.push(this.#thinking);
  }

  /** Ends the thinking block. One whose text the vendor keeps to itself still leaves its replay state. */
  thinkingDone(replay: ReplayState | undefined): void {
    const block = this.#thinking;
    this.#thinking = undefined;
    if (block) {
      if (replay) block.replay = replay;
    } else if (replay) this.#blocks.push({ type: "thinking", text: "", replay });
  }

  /**
   * Opens a call under an internal id of its own. Two calls of one pass never share a provider id, because a vendor would
   * refuse the replay (case TL-02). `undefined` when the index is open already.
   */
  open(index: number, providerId: ProviderCallId, name: string): StreamedCall | undefined {
    if (this.#calls.has(index)) return undefined;
    this.#shown = true;
    const call: StreamedCall = { id: this.#input.newCallId(), name, modelCallId: this.#input.modelCallId };
    this.#calls.set(index, { index, providerId: this.#unique(providerId, index), call, text: "" });
    return call;
  }

  /** Adds argument text; gives the call and all of its text, or `undefined` for a call that was never opened. */
  argumentText(index: number, delta: string): { readonly call: StreamedCall; readonly soFar: string } | undefined {
    const open = this.#calls.get(index);
    if (!open) return undefined;
    open.text += delta;
    return { call: open.call, soFar: open.text };
  }

  /** The calls opened so far, by index. */
  opened(): readonly StreamedCall[] {
    return this.#sorted().map(({ call }) => call);
  }

  visibleText(): string {
    return this.#blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  }

  /** The record of a pass that ended properly. */
  complete(): AssistantRecord {
    return this.#record(this.#sorted().map(callRecord), false);
  }

  /** The record of a pass that was cut short: what was shown, and no call. */
  partial(): AssistantRecord {
    return this.#record([], true);
  }

  #record(calls: readonly ToolCallRecord[], partial: boolean): AssistantRecord {
    const blocks: AssistantBlock[] = this.#blocks.map((block) => ({ ...block }));
    return { blocks, calls, modelCallId: this.#input.modelCallId, step: this.#input.step, partial };
  }

  #sorted(): OpenCall[] {
    return [...this.#calls.values()].toSorted((a, b) => a.index - b.index);
  }

  #unique(wanted: ProviderCallId, index: number): ProviderCallId {
    const base = wanted || `call_${index}`;
    let id = base;
    for (let n = 2; this.#providerIds.has(id); n++) id = `${base}_${n}`;
    this.#providerIds.add(id);
    // still the provider's name for the call, made unique where the provider did not
    return id as ProviderCallId;
  }
}

function callRecord({ index, providerId, call, text }: OpenCall): ToolCallRecord {
  const read = readArguments(text);
  const base = { id: call.id, providerId, index, name: call.name };
  return read.ok ? { ...base, arguments: read.text } : { ...base, arguments: text, argumentError: read.reason };
}
