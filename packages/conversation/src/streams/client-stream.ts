import type {
  BlobId,
  CheckpointId,
  ClientCodec,
  Clock,
  Downlink,
  ExecReply,
  Generation,
  KvReply,
  OutputEntry,
  OutputReader,
  OutputSubscription,
  RunId,
  StreamId,
  Terminal,
  ToolCallId,
} from "@chartroom/domain";
import { deferred, type Deferred } from "../deferred.ts";

/** Where an exec or a query of a stream belongs. */
export interface CallPlace {
  readonly callId: ToolCallId;
  readonly key: string;
}

/** How long an answer of the client is waited for. */
export interface Bound {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** How the conversation puts a message of one stream into the order of its output log. */
export type StreamAppend = (kind: "exec" | "query" | "control", bytes: Uint8Array, streamId: StreamId) => void;

/**
 * One generation as the conversation sees it: its downlink, and what was asked of the client on it.
 * Exec, KV and query ids are of this stream alone and are never used twice on it.
 */
export class ClientStream implements OutputReader {
  readonly generation: Generation;
  readonly streamId: StreamId;
  /** The Run that the stream carries now; a follow-up takes it over. */
  runId: RunId;
  subscription: OutputSubscription | undefined;
  #roundTripMs: number | undefined;
  /** The newest checkpoint that was on its way to this stream, acknowledged or not. */
  offered: CheckpointId | undefined;
  #downlink: Downlink | undefined;
  #terminalWritten = false;
  /** The transport takes no more for now. */
  #full = false;
  #writers: Deferred<boolean>[] = [];
  #nextExec = 1;
  #nextKv = 1;
  #nextQuery = 1;
  readonly #execs = new Map<number, CallPlace>();
  readonly #queries = new Map<number, CallPlace>();
  readonly #asked = new Map<number, Deferred<ExecReply | undefined>>();
  readonly #gets = new Map<number, Deferred<Uint8Array | undefined>>();
  readonly #sets = new Map<number, BlobId>();
  readonly #sent = new Map<BlobId, Deferred<boolean>>();

  constructor(generation: Generation, runId: RunId) {
    this.generation = generation;
    this.streamId = generation.streamId;
    this.runId = runId;
  }

  get attached(): boolean {
    return this.#downlink !== undefined && !this.#downlink.closed;
  }
  get downlink(): Downlink | undefined {
    return this.#downlink;
  }
  /** The terminal went out to the transport that was attached last. */
  get delivered(): boolean {
    return this.#terminalWritten;
  }

  take(downlink: Downlink): void {
    this.#downlink = downlink;
    this.#full = false;
    this.#terminalWritten = false;
    downlink.onDrain(() => {
      if (this.#downlink !== downlink) return;
      this.#full = false;
      this.subscription?.resume();
      if (!this.#full) this.#wake(true);
    });
  }

  /** The transport is gone: what was asked over it will not be answered there, and the next one is given it anew. */
  leave(): void {
    this.subscription?.close();
    this.subscription = undefined;
    this.#downlink = undefined;
    for (const waiting of this.#asked.values()) waiting.resolve(undefined);
    for (const waiting of this.#gets.values()) waiting.resolve(undefined);
    for (const [blob, waiting] of this.#sent) {
      if (waiting.settled) continue;
      waiting.resolve(false);
      this.#sent.delete(blob);
    }
    this.offered = undefined;
    this.#wake(false);
    this.#asked.clear();
    this.#gets.clear();
  }

  /** Another owner lives: the connection is cut without a word. */
  drop(): void {
    const downlink = this.#downlink;
    this.leave();
    downlink?.drop();
  }

  // -- OutputReader

  entry(entry: OutputEntry): boolean {
    return this.#write(entry.bytes);
  }
  terminal(terminal: Terminal): void {
    const downlink = this.#downlink;
    if (!downlink || downlink.closed) return;
    this.#terminalWritten = true;
    downlink.end(terminal);
  }
  lagged(): void {
    const failure = {
      code: "REPLACED",
      title: "Connection too slow",
      detail: "The stream fell too far behind. Reconnect to go on.",
      retryable: true,
    } as const;
    this.#downlink?.end({ kind: "error", failure });
  }

  /** A message that bypasses the log: heartbeats. */
  writeDirect(bytes: Uint8Array): void {
    this.#write(bytes);
  }

  /** Resolves when the transport takes more and nothing of the output waits for it; `false`: it is gone. */
  async writable(): Promise<boolean> {
    while (this.attached && this.#full) {
      const waiting = deferred<boolean>();
      this.#writers.push(waiting);
      await waiting.promise;
    }
    return this.attached;
  }

  #write(bytes: Uint8Array): boolean {
    const taken = this.#downlink?.write(bytes) ?? true;
    if (!taken) this.#full = true;
    return taken;
  }

  #wake(attached: boolean): void {
    for (const waiting of this.#writers.splice(0)) waiting.resolve(attached);
  }

  // -- execs and queries of tool calls

  issueExec(place: CallPlace, encode: (execId: number) => Uint8Array, append: StreamAppend): void {
    const id = this.#nextExec++;
    this.#execs.set(id, place);
    append("exec", encode(id), this.streamId);
  }
  issueQuery(place: CallPlace, encode: (queryId: number) => Uint8Array, append: StreamAppend): void {
    const id = this.#nextQuery++;
    this.#queries.set(id, place);
    append("query", encode(id), this.streamId);
  }
  execPlace(execId: number): CallPlace | undefined {
    return this.#execs.get(execId);
  }
  queryPlace(queryId: number): CallPlace | undefined {
    return this.#queries.get(queryId);
  }
  /** Stops the exec that carries `key` of the call; later answers to it are late. */
  abortExec(place: CallPlace, codec: ClientCodec, append: StreamAppend): void {
    for (const [id, at] of this.#execs) {
      if (at.callId !== place.callId || at.key !== place.key) continue;
      append("control", codec.abort(id), this.streamId);
      this.#execs.delete(id);
    }
  }
  forgetCall(callId: ToolCallId): void {
    for (const [id, at] of this.#execs) if (at.callId === callId) this.#execs.delete(id);
    for (const [id, at] of this.#queries) if (at.callId === callId) this.#queries.delete(id);
  }

  // -- execs of the conversation itself

  /** Asks the client for its request context; `undefined`: the transport went, or the bound passed. */
  async ask(
    encode: (execId: number) => Uint8Array,
    append: StreamAppend,
    bound: Bound,
  ): Promise<ExecReply | undefined> {
    const id = this.#nextExec++;
    const waiting = deferred<ExecReply | undefined>();
    this.#asked.set(id, waiting);
    append("exec", encode(id), this.streamId);
    return bounded(waiting, bound);
  }
  answerAsked(execId: number, reply: ExecReply | undefined): boolean {
    const waiting = this.#asked.get(execId);
    if (!waiting) return false;
    this.#asked.delete(execId);
    waiting.resolve(reply);
    return true;
  }

  // -- blobs: behind all that the output holds, and never in it, so that a delta waits for none of them

  /** A blob of the client's store; `undefined`: missing, or not answered within the bound. */
  getBlob(blob: BlobId, codec: ClientCodec, bound: Bound): Promise<Uint8Array | undefined> {
    const waiting = deferred<Uint8Array | undefined>();
    void this.writable().then((attached) => {
      if (!attached || waiting.settled) return waiting.resolve(undefined);
      const id = this.#nextKv++;
      this.#gets.set(id, waiting);
      this.#write(codec.getBlob(id, blob));
    });
    return bounded(waiting, bound);
  }

  /** The acknowledgement of a blob that was written to this stream; `undefined`: it was not. */
  acknowledgement(blob: BlobId): Promise<boolean> | undefined {
    return this.#sent.get(blob)?.promise;
  }

  /** The shortest time in which an answer has come; 0: none has. */
  get roundTripMs(): number {
    return this.#roundTripMs ?? 0;
  }
  roundTrip(ms: number): void {
    this.#roundTripMs = Math.min(ms, this.#roundTripMs ?? ms);
  }

  /** Writes a blob to the client, at most once per transport; `true` when it is acknowledged. A late acknowledgement counts. */
  setBlob(blob: BlobId, data: Uint8Array, codec: ClientCodec): Promise<boolean> {
    const before = this.#sent.get(blob);
    if (before) return before.promise;
    const waiting = deferred<boolean>();
    this.#sent.set(blob, waiting);
    const id = this.#nextKv++;
    this.#sets.set(id, blob);
    this.#write(codec.setBlob(id, blob, data));
    return waiting.promise;
  }

  kv(reply: KvReply): boolean {
    if (reply.kind === "get") {
      const waiting = this.#gets.get(reply.kvId);
      this.#gets.delete(reply.kvId);
      waiting?.resolve(reply.error === undefined && reply.data.length > 0 ? reply.data : undefined);
      return waiting !== undefined;
    }
    const blob = this.#sets.get(reply.kvId);
    this.#sets.delete(reply.kvId);
    if (blob === undefined) return false;
    this.#sent.get(blob)?.resolve(reply.error === undefined);
    return true;
  }
}

async function bounded<T>(waiting: Deferred<T | undefined>, { clock, ms, signal }: Bound): Promise<T | undefined> {
  const giveUp = (): void => waiting.resolve(undefined);
  const timer = clock.setTimeout(giveUp, ms);
  signal.addEventListener("abort", giveUp);
  const value = await waiting.promise;
  signal.removeEventListener("abort", giveUp);
  clock.clearTimeout(timer);
  return value;
}
