import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock, ModelEvent, ModelLimits, ProviderFailure } from "@chartroom/domain";
import type { Dispatcher } from "undici";
import { BatchQueue } from "../stream/batch-queue.ts";
import { SseParser } from "../stream/sse.ts";
import { isTerminal, type Translator } from "../stream/translator.ts";
import type { FailureReader } from "./failure-reader.ts";
import { Watch, type Bound } from "./watch.ts";

/** Characters that wait for a busy reader before the socket is held back. */
const BACKLOG = 64 * 1024;
/** Of an error body no more than this is read (characters). */
const ERROR_BODY = 64 * 1024;
/** An error body that stays silent for so long is taken as it is (ms). */
const ERROR_BODY_MS = 5_000;
/** After the vendor's finish reason so much silence ends the wait for trailers (ms). */
const TRAILERS_MS = 5_000;
/** After the end mark so long a response may take to close, so that its connection can be used again (ms). */
const DRAIN_MS = 1_000;

export interface ExchangeInput {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly limits: ModelLimits;
  readonly signal: AbortSignal;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The exact text that is sent. */
  readonly body: string;
  readonly translator: Translator;
  readonly failures: FailureReader;
}

type Phase =
  /** Nothing was sent yet. */
  | "new"
  /** Sent; no final response headers yet. */
  | "waiting"
  | "streaming"
  /** The response is no stream: its body is read as an error. */
  | "refused"
  /** The last event was given; the response may still close by itself. */
  | "draining"
  | "closed";

/**
 * One POST whose answer is an event stream. The request is sent when the reader asks for the first batch. Whatever happens,
 * the reader gets exactly one terminal event, and the connection is closed or free again.
 */
export function exchange(input: ExchangeInput): AsyncIterable<readonly ModelEvent[]> {
  const call = new Exchange(input);
  return call.queue;
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #input: Omit<ExchangeInput, "body">;
  readonly #watch: Watch;
  readonly #sse = new SseParser();
  readonly #decoder = new StringDecoder("utf8");
  readonly queue: BatchQueue;
  #phase: Phase = "new";
  #body: string;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #errorBody = "";
  #backlog = 0;
  #cancelDrain = (): void => {};

  constructor({ body, ...input }: ExchangeInput) {
    this.#input = input;
    this.#body = body;
    this.#watch = new Watch(input.clock, input.limits, (bound) => this.#expired(bound));
    this.queue = new BatchQueue({
      start: () => this.#start(),
      hungry: () => this.#hungry(),
      left: () => this.#close(),
    });
  }

  readonly #aborted = (): void => this.#fail(this.#input.failures.aborted());

  #start(): void {
    const { signal, url, headers, dispatcher } = this.#input;
    if (signal.aborted) return this.#aborted();
    signal.addEventListener("abort", this.#aborted, { once: true });
    this.#phase = "waiting";
    this.#watch.start();
    const bytes = Buffer.from(this.#body, "utf8");
    this.#body = "";
    const options = {
      origin: url.origin,
      path: url.pathname + url.search,
      method: "POST",
      headers: { ...headers, "content-length": String(bytes.byteLength) },
      body: once(bytes),
      // the limits are the watch's: undici's own would be a second opinion
      headersTimeout: 0,
      bodyTimeout: 0,
    } as const;
    try {
      dispatcher.dispatch(options, this);
    } catch (error) {
      this.#fail(this.#input.failures.transport(error, false));
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // it ended while the connection was still being made
    if (this.#phase === "closed") controller.abort(new Error("closed"));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#phase !== "waiting" || status < 200) return;
    this.#watch.headers();
    this.#status = status;
    this.#headers = headers;
    this.#phase = status === 200 && isStream(headers) ? "streaming" : "refused";
    if (this.#phase === "refused") this.#watch.tighten(ERROR_BODY_MS);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#watch.byte();
    if (this.#phase === "streaming") this.#read(this.#decoder.write(chunk));
    else if (this.#phase === "refused") {
      this.#errorBody += this.#decoder.write(chunk);
      if (this.#errorBody.length > ERROR_BODY) this.#refuse();
    }
  }

  onResponseEnd(): void {
    if (this.#phase === "refused") return this.#refuse();
    if (this.#phase === "streaming") return this.#ended(undefined);
    this.#cancelDrain();
    this.#phase = "closed";
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#phase === "refused") return this.#refuse();
    if (this.#phase === "streaming") return this.#ended(error);
    if (this.#phase === "waiting") return this.#fail(this.#input.failures.transport(error, false));
    this.#cancelDrain();
    this.#phase = "closed";
  }

  #read(text: string): void {
    const out: ModelEvent[] = [];
    try {
      for (const event of this.#sse.push(text)) {
        this.#input.translator.read(event, out);
        if (isTerminal(out.at(-1))) return this.#finish(out);
      }
    } catch {
      out.push({ type: "failed", failure: this.#input.failures.unreadable() });
      return this.#finish(out);
    }
    if (this.#input.translator.ending) this.#watch.tighten(TRAILERS_MS);
    this.queue.push(out);
    if (!this.queue.backlog) return;
    this.#backlog += text.length;
    if (this.#backlog >= BACKLOG && this.#controller?.paused === false) {
      this.#controller.pause();
      this.#watch.pause();
    }
  }

  #hungry(): void {
    this.#backlog = 0;
    if (this.#controller?.paused !== true) return;
    this.#watch.resume();
    this.#controller.resume();
  }

  /** The response ended by itself, or broke off. */
  #ended(error: Error | undefined): void {
    const out: ModelEvent[] = [];
    try {
      for (const event of this.#sse.end()) {
        this.#input.translator.read(event, out);
        if (isTerminal(out.at(-1))) break;
      }
    } catch {
      // half an event is no more than the sign of an early end
    }
    if (!isTerminal(out.at(-1))) this.#input.translator.close(out);
    if (!isTerminal(out.at(-1))) {
      const { failures } = this.#input;
      out.push({ type: "failed", failure: error ? failures.transport(error, true) : failures.interrupted() });
    }
    this.#last(out);
    this.#phase = "closed";
  }

  /** The vendor's own terminal event is in `out`: the response closes by itself, or is closed. */
  #finish(out: ModelEvent[]): void {
    this.#last(out);
    if (out.at(-1)?.type === "failed") return this.#close();
    this.#phase = "draining";
    if (this.#controller?.paused === true) this.#controller.resume();
    const timer = this.#input.clock.setTimeout(() => this.#close(), DRAIN_MS);
    this.#cancelDrain = () => this.#input.clock.clearTimeout(timer);
  }

  #refuse(): void {
    this.#fail(this.#input.failures.response(this.#status, this.#headers, this.#errorBody));
  }

  #expired(bound: Bound): void {
    if (this.#phase === "refused") return this.#refuse();
    const out: ModelEvent[] = [];
    if (this.#phase === "streaming" && bound !== "total") this.#input.translator.close(out);
    if (!isTerminal(out.at(-1)))
      out.push({ type: "failed", failure: this.#input.failures.timeout(bound, this.#input.limits) });
    this.#last(out);
    this.#close();
  }

  #fail(failure: ProviderFailure): void {
    this.#last([{ type: "failed", failure }]);
    this.#close();
  }

  #last(out: ModelEvent[]): void {
    this.#watch.stop();
    this.#input.signal.removeEventListener("abort", this.#aborted);
    this.queue.end(out);
  }

  /** Closes the connection at once if the response has not ended. */
  #close(): void {
    const open = this.#phase !== "closed";
    this.#phase = "closed";
    this.#watch.stop();
    this.#cancelDrain();
    this.#input.signal.removeEventListener("abort", this.#aborted);
    if (open) this.#controller?.abort(new Error("closed"));
  }
}

/** A body that is gone once it is sent: a stream may be open for many minutes, and a long conversation weighs megabytes. */
function once(bytes: Buffer): Readable {
  let rest: Buffer | undefined = bytes;
  return new Readable({
    read() {
      this.push(rest);
      rest = undefined;
      this.push(null);
    },
  });
}

/** Some relays send their stream as plain text; a page or a JSON document is none. */
function isStream(headers: IncomingHttpHeaders): boolean {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") return false;
  return !/^\s*(?:application\/(?:json|problem\+json)|text\/html)/i.test(headers["content-type"] ?? "");
}
