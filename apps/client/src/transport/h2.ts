import { decodeTrailers, encodeFrame } from "@chartroom/protocol";
import http2 from "node:http2";
import { httpFailure, lost, networkFailure } from "./failure.ts";
import { commonHeaders, runHeaders, streamHeaders, unaryHeaders } from "./headers.ts";
import { InboundReader } from "./inbound.ts";
import {
  type Inbound,
  RUN,
  type RunCall,
  type RunStream,
  type Transport,
  type TransportOptions,
  UNARY_TIMEOUT_MS,
  type UnaryAnswer,
} from "./transport.ts";
import { headerStatus, readUnary, unaryBody } from "./unary.ts";

const WINDOW_BYTES = 4 * 1024 * 1024;
/** Node's own measure, in megabytes: a checkpoint or blob of tens of megabytes must fit. */
const SESSION_MEMORY = 256;
const MAX_ERROR_CHARS = 64 * 1024;

/** HTTP/2, cleartext with prior knowledge or TLS: one `Run` stream per attempt (wire section 3.1), one connection. */
export class Http2Transport implements Transport {
  readonly #options: TransportOptions;
  #session: http2.ClientHttp2Session | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  open(call: RunCall, listener: (event: Inbound) => void): RunStream {
    const { grpcWeb } = this.#options;
    const reader = new InboundReader(grpcWeb, listener);
    const stream = this.#request(RUN, { ...streamHeaders(grpcWeb), ...runHeaders(call) }, (error) =>
      reader.fail(networkFailure(error, this.#options.url.host)),
    );
    readDownlink(stream, reader, this.#options.url.host);
    return {
      send: (message) => {
        if (!reader.done && stream.writable) stream.write(encodeFrame(0, message));
      },
      close: () => {
        const finished = reader.done;
        reader.close();
        if (finished) stream.end();
        else if (!stream.closed) stream.close(http2.constants.NGHTTP2_CANCEL);
      },
    };
  }

  unary(path: string, message: Uint8Array): Promise<UnaryAnswer> {
    const { grpcWeb, url } = this.#options;
    return new Promise((resolve) => {
      const failed = (error: unknown) => resolve({ ok: false, failure: networkFailure(error, url.host) });
      const stream = this.#request(path, unaryHeaders(grpcWeb), failed);
      const chunks: Uint8Array[] = [];
      let headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader = {};
      stream.setTimeout(UNARY_TIMEOUT_MS, () => stream.destroy(new Error("no answer in time")));
      stream.on("error", failed);
      stream.on("response", (received) => {
        headers = received;
      });
      stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      stream.on("end", () => {
        const answer = {
          status: headers[":status"] ?? 0,
          header: (name: string) => headers[name]?.toString(),
          body: Buffer.concat(chunks),
        };
        resolve(readUnary(answer, grpcWeb));
      });
      stream.on("close", () => resolve({ ok: false, failure: lost("the call was closed") }));
      stream.end(unaryBody(message, grpcWeb));
    });
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  #request(path: string, headers: Record<string, string>, onError: (error: unknown) => void): http2.ClientHttp2Stream {
    const session = this.#connected();
    // an error of the connection reaches a stream only once it is connected
    session.once("error", onError);
    const stream = session.request(
      { ":method": "POST", ":path": path, ...commonHeaders(this.#options), ...headers },
      { endStream: false },
    );
    stream.once("close", () => session.off("error", onError));
    return stream;
  }

  #connected(): http2.ClientHttp2Session {
    const known = this.#session;
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const { url, ca } = this.#options;
    const session = http2.connect(url.origin, {
      maxSessionMemory: SESSION_MEMORY,
      settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
      ...(ca === undefined ? {} : { ca }),
    });
    session.setMaxListeners(0);
    session.once("connect", () => session.setLocalWindowSize(WINDOW_BYTES * 4));
    session.on("error", () => undefined);
    session.once("goaway", () => {
      if (this.#session === session) this.#session = undefined;
    });
    this.#session = session;
    return session;
  }
}

function readDownlink(stream: http2.ClientHttp2Stream, reader: InboundReader, host: string): void {
  let refused: { readonly status: number; body: string } | undefined;
  stream.on("response", (headers) => {
    const status = headers[":status"] ?? 0;
    const trailersOnly = headerStatus((name) => headers[name]?.toString());
    if (status !== 200) refused = { status, body: "" };
    else if (trailersOnly !== undefined) {
      const end = decodeTrailers(trailersOnly);
      if (end.ok) reader.end(end.value);
    } else reader.opened();
  });
  stream.on("data", (chunk: Buffer) => {
    if (refused === undefined) reader.push(chunk);
    else if (refused.body.length < MAX_ERROR_CHARS) refused.body += chunk.toString();
  });
  stream.on("end", () => {
    if (refused === undefined) reader.ended();
    else reader.fail(httpFailure(refused.status, refused.body));
    // the server has said its last word; this side has nothing more to say either
    stream.end();
  });
  stream.on("error", (error) => reader.fail(networkFailure(error, host)));
  stream.on("close", () => reader.fail(lost("the stream was closed")));
}
