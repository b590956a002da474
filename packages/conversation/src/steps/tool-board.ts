import type {
  Blob,
  ExecControl,
  ExecReply,
  InterruptReason,
  QueryReply,
  Timer,
  ToolCallId,
  ToolCallRecord,
  ToolEffect,
  ToolExecution,
  ToolResultRecord,
} from "@chartroom/domain";
import type { CallPlace, ClientStream } from "../streams/client-stream.ts";

export interface SettledCall {
  readonly callId: ToolCallId;
  readonly result: ToolResultRecord;
  readonly completed: Uint8Array;
  readonly blobs: readonly Blob[];
}

/** What the board needs of its activation. */
export interface BoardHost {
  now(): number;
  setTimeout(fn: () => void, ms: number): Timer;
  clearTimeout(timer: Timer): void;
  /** The stream that is attached to the Run now. */
  stream(): ClientStream | undefined;
  appendUpdate(frame: Uint8Array): void;
  sendExec(stream: ClientStream, place: CallPlace, encode: (id: number) => Uint8Array): void;
  sendQuery(stream: ClientStream, place: CallPlace, encode: (id: number) => Uint8Array): void;
  abortExec(stream: ClientStream, place: CallPlace): void;
  /** Commits results in this order; `false`: the activation is over. */
  commit(settled: readonly SettledCall[]): Promise<boolean>;
  toolSettled(call: ToolCallRecord, result: ToolResultRecord, durationMs: number): void;
}

interface OpenCall {
  readonly record: ToolCallRecord;
  readonly execution: ToolExecution;
  readonly timers: Map<string, Timer>;
  begunAt: number;
  /** What it asked for is on its way; a call that shares something with another waits for that one. */
  begun: boolean;
  deadline: number;
}

/** The calls of one Step that are being carried out: routes answers to them, commits results as they come, first result wins. */
export class ToolBoard {
  readonly #host: BoardHost;
  readonly #callMs: number;
  readonly #open = new Map<ToolCallId, OpenCall>();
  readonly #settling: SettledCall[] = [];
  #flushing: Promise<void> | undefined;
  /** Told of each committed result while the calls are being waited for. */
  onCommitted: ((callId: ToolCallId) => void) | undefined;
  onRenewed: (() => void) | undefined;

  constructor(host: BoardHost, callMs: number) {
    this.#host = host;
    this.#callMs = callMs;
  }

  /** Calls without a committed result. */
  get open(): number {
    return this.#open.size + this.#settling.length;
  }
  /** Earliest deadline of an open call, epoch ms; 0: none. */
  get deadline(): number {
    return this.#open.size === 0 ? 0 : Math.min(...[...this.#open.values()].map((call) => call.deadline));
  }
  get openCalls(): readonly ToolCallRecord[] {
    return [...this.#open.values()].map((call) => call.record);
  }

  add(record: ToolCallRecord, execution: ToolExecution, deadline: number): void {
    this.#open.set(record.id, {
      record,
      execution,
      timers: new Map(),
      begunAt: this.#host.now(),
      begun: false,
      deadline,
    });
  }

  /** Begins the calls that have not begun, in their order; of those that change the same thing, one at a time. */
  beginAll(): void {
    for (const [callId, call] of [...this.#open]) {
      if (call.begun || this.#blocked(call)) continue;
      call.begun = true;
      call.begunAt = this.#host.now();
      this.#step(callId, (execution, at) => execution.begin(at));
    }
  }

  #blocked({ execution }: OpenCall): boolean {
    if (execution.exclusive === undefined) return false;
    return [...this.#open.values()].some((other) => other.begun && other.execution.exclusive === execution.exclusive);
  }

  /** Asks the client again on a new stream, with new ids, for all that is unanswered. */
  reissue(): void {
    for (const [callId, call] of this.#open) if (call.begun) this.#step(callId, (execution) => execution.reissue());
  }

  reply(place: CallPlace, reply: ExecReply): boolean {
    return this.#step(place.callId, (execution, at) => execution.reply(place.key, reply, at));
  }
  control(place: CallPlace, control: ExecControl): boolean {
    return this.#step(place.callId, (execution, at) => execution.control(place.key, control, at));
  }
  answer(place: CallPlace, reply: QueryReply): boolean {
    return this.#step(place.callId, (execution, at) => execution.answer(place.key, reply, at));
  }
  /** Takes a result that came another way. */
  accept(callId: ToolCallId, result: ToolResultRecord): boolean {
    return this.#step(callId, (execution, at) => execution.accept(result, at));
  }

  interrupt(callId: ToolCallId, reason: InterruptReason): boolean {
    return this.#step(callId, (execution, at) => execution.interrupt(reason, at));
  }
  interruptAll(reason: InterruptReason): void {
    for (const callId of [...this.#open.keys()]) this.interrupt(callId, reason);
  }
  interruptOverdue(): void {
    const now = this.#host.now();
    for (const [callId, call] of [...this.#open]) if (call.deadline <= now) this.interrupt(callId, "deadline");
  }

  /** When every result that has come so far is committed. */
  async flushed(): Promise<void> {
    while (this.#flushing) await this.#flushing;
  }

  /** Gives up timers; nothing is sent any more. */
  dispose(): void {
    for (const call of this.#open.values()) this.#clear(call);
    this.#open.clear();
    this.onCommitted = undefined;
    this.onRenewed = undefined;
  }

  #step(callId: ToolCallId, act: (execution: ToolExecution, atMs: number) => readonly ToolEffect[]): boolean {
    const call = this.#open.get(callId);
    if (!call) return false;
    for (const effect of act(call.execution, this.#host.now())) this.#apply(call, effect);
    return true;
  }

  #apply(call: OpenCall, effect: ToolEffect): void {
    const place = { callId: call.record.id, key: "key" in effect ? effect.key : "" };
    const stream = this.#host.stream();
    switch (effect.type) {
      case "exec":
        if (stream) this.#host.sendExec(stream, place, (id) => effect.encode(id));
        return;
      case "query":
        if (stream) this.#host.sendQuery(stream, place, (id) => effect.encode(id));
        return;
      case "abort":
        if (stream) this.#host.abortExec(stream, place);
        return;
      case "update":
        return this.#host.appendUpdate(effect.frame);
      case "renew":
        call.deadline = this.#host.now() + this.#callMs;
        this.onRenewed?.();
        return;
      case "deadline":
        call.timers.set(
          effect.key,
          this.#host.setTimeout(
            () => this.#step(place.callId, (execution, at) => execution.expire(effect.key, at)),
            effect.ms,
          ),
        );
        return;
      case "settled":
        return this.#settle(call, effect);
    }
  }

  #settle(call: OpenCall, effect: Extract<ToolEffect, { type: "settled" }>): void {
    this.#clear(call);
    this.#open.delete(call.record.id);
    this.#host.stream()?.forgetCall(call.record.id);
    this.#settling.push({
      callId: call.record.id,
      result: effect.result,
      completed: effect.completed,
      blobs: effect.blobs,
    });
    this.#host.toolSettled(call.record, effect.result, this.#host.now() - call.begunAt);
    this.#flushing ??= Promise.resolve().then(() => this.#flush());
    // what waited for this one may begin; a call that never began is only waiting to be closed
    if (call.begun && call.execution.exclusive !== undefined) queueMicrotask(() => this.beginAll());
  }

  async #flush(): Promise<void> {
    // results that come while a commit is under way share the next one
    while (this.#settling.length > 0) {
      const batch = this.#settling.slice();
      if (!(await this.#host.commit(batch))) break;
      this.#settling.splice(0, batch.length);
      for (const settled of batch) this.#host.appendUpdate(settled.completed);
      for (const settled of batch) this.onCommitted?.(settled.callId);
    }
    this.#flushing = undefined;
  }

  #clear(call: OpenCall): void {
    for (const timer of call.timers.values()) this.#host.clearTimeout(timer);
    call.timers.clear();
  }
}
