import { create, toBinary } from "@bufbuild/protobuf";
import { decodeTrailers, encodeFrame } from "@chartroom/protocol";
import { BidiAppendRequestSchema, BidiRequestIdSchema } from "@chartroom/protocols/aiserver";
import http from "node:http";
import https from "node:https";
import { AppendQueue } from "./append-queue.ts";
import { httpFailure, lost, networkFailure } from "./failure.ts";
import { commonHeaders, runHeaders, streamHeaders, unaryHeaders } from "./headers.ts";
import { InboundReader } from "./inbound.ts";
import {
  BIDI_APPEND,
  type Inbound,
  RUN_SSE,
  type RunCall,
  type RunStream,
  type Transport,
  type TransportOptions,
  UNARY_TIMEOUT_MS,
  type UnaryAnswer,
} from "./transport.ts";
import { headerStatus, readUnary, unaryBody } from "./unary.ts";

const MAX_ERROR_CHARS = 64 * 1024;

/** HTTP/1.1: `RunSSE` down, `BidiAppend` up, one call per message (wire section 3). */
export class Http1Transport implements Transport {
  readonly #options: TransportOptions;
  readonly #agent: http.Agent;

  constructor(options: TransportOptions) {
    this.#options = options;
    const keepAlive = { keepAlive: true };
    this.#agent =
      options.url.protocol === "https:"
        ? new https.Agent({ ...keepAlive, ...(options.ca === undefined ? {} : { ca: options.ca }) })
        : new http.Agent(keepAlive);
  }

  open(call: RunCall, listener: (event: Inbound) => void): RunStream {
    const { grpcWeb, url } = this.#options;
    const reader = new InboundReader(grpcWeb, listener);
    const headers = { ...streamHeaders(grpcWeb), ...runHeaders(call), "x-cursor-streaming": "true" };
    const downlink = this.#request(RUN_SSE, headers);
    const uplink = new AppendQueue(
      (message, seqno, deadlineMs) => this.#append(call, message, seqno, deadlineMs),
      (failure) => {
        downlink.destroy();
        reader.fail(failure);
      },
    );
    readDownlink(downlink, reader, url.host);
    const requestId = create(BidiRequestIdSchema, { requestId: call.requestId });
    downlink.end(encodeFrame(0, toBinary(BidiRequestIdSchema, requestId)));
    return {
      send: (message) => {
        if (!reader.done) uplink.push(message);
      },
      close: () => {
        reader.close();
        uplink.close();
        downlink.destroy();
      },
    };
  }

  unary(path: string, message: Uint8Array): Promise<UnaryAnswer> {
    return this.#call(path, unaryHeaders(this.#options.grpcWeb), message, UNARY_TIMEOUT_MS);
  }

  close(): void {
    this.#agent.destroy();
  }

  #append(call: RunCall, message: Uint8Array, seqno: number, deadlineMs: number): Promise<UnaryAnswer> {
    const request = create(BidiAppendRequestSchema, {
      data: Buffer.from(message).toString("hex"),
      requestId: { requestId: call.requestId },
      appendSeqno: BigInt(seqno),
    });
    const headers = { ...unaryHeaders(this.#options.grpcWeb), ...runHeaders(call) };
    return this.#call(BIDI_APPEND, headers, toBinary(BidiAppendRequestSchema, request), deadlineMs);
  }

  #call(path: string, headers: Record<string, string>, message: Uint8Array, timeoutMs: number): Promise<UnaryAnswer> {
    const { grpcWeb, url } = this.#options;
    return new Promise((resolve) => {
      const failed = (error: unknown) => resolve({ ok: false, failure: networkFailure(error, url.host) });
      const request = this.#request(path, headers);
      const deadline = setTimeout(() => request.destroy(new Error("no answer in time")), timeoutMs);
      request.on("error", failed);
      request.on("close", () => {
        clearTimeout(deadline);
        resolve({ ok: false, failure: lost("the call was closed") });
      });
      request.on("response", (response) => {
        const chunks: Uint8Array[] = [];
        response.on("error", failed);
        response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
        response.on("end", () => {
          const header = (name: string) => response.headers[name]?.toString();
          resolve(readUnary({ status: response.statusCode ?? 0, header, body: Buffer.concat(chunks) }, grpcWeb));
        });
      });
      request.end(unaryBody(message, grpcWeb));
    });
  }

  #request(path: string, headers: Record<string, string>): http.ClientRequest {
    const { url } = this.#options;
    const make = url.protocol === "https:" ? https.request : http.request;
    return make(new URL(path, url), {
      method: "POST",
      agent: this.#agent,
      headers: { ...commonHeaders(this.#options), ...headers },
    });
  }
}

function readDownlink(request: http.ClientRequest, reader: InboundReader, host: string): void {
  request.on("error", (error) => reader.fail(networkFailure(error, host)));
  request.on("close", () => reader.fail(lost("the connection was closed")));
  request.on("response", (response) => {
    const status = response.statusCode ?? 0;
    const trailersOnly = headerStatus((name) => response.headers[name]?.toString());
    let refusal = "";
    response.on("error", (error) => reader.fail(networkFailure(error, host)));
    if (status === 200 && trailersOnly !== undefined) {
      const end = decodeTrailers(trailersOnly);
      if (end.ok) reader.end(end.value);
    } else if (status === 200) reader.opened();
    response.on("data", (chunk: Buffer) => {
      if (status === 200) reader.push(chunk);
      else if (refusal.length < MAX_ERROR_CHARS) refusal += chunk.toString();
    });
    response.on("end", () => {
      if (status === 200) reader.ended();
      else reader.fail(httpFailure(status, refusal));
    });
  });
}
