import type { Failure } from "@chartroom/domain";
import { FAILURES } from "../failures.ts";
import type { HttpResponse } from "../http/types.ts";
import type { Dialect } from "../stream/dialect.ts";
import { type OutgoingHeaders, openOutlet } from "../stream/outlet.ts";
import { encodeTerminal } from "../stream/terminal.ts";
import { Transport } from "../stream/transport.ts";
import type { AgentPorts } from "./ports.ts";

/** Content type of a stream in each dialect. */
export const STREAM_TYPE: Readonly<Record<Dialect, string>> = {
  connect: "application/connect+proto",
  grpcWeb: "application/grpc-web+proto",
  grpc: "application/grpc+proto",
};
/** A cache or a proxy in between must not keep a stream back. */
const UNBUFFERED: OutgoingHeaders = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" };

export type StreamMethod = "Run" | "RunSSE";

function headersOf(dialect: Dialect, method: StreamMethod): OutgoingHeaders {
  // binary envelopes under the type of an event stream, as the clients of the HTTP/1.1 transport expect (wire section 2.4)
  const type = method === "RunSSE" && dialect === "connect" ? "text/event-stream" : STREAM_TYPE[dialect];
  return { "content-type": type, ...UNBUFFERED };
}

/** Opens the stream: its headers and a heartbeat go out. It counts as waiting until it has a Run or is over. */
export function openStream(
  response: HttpResponse,
  dialect: Dialect,
  method: StreamMethod,
  ports: AgentPorts,
): Transport {
  const transport = new Transport(response, dialect, headersOf(dialect, method), ports);
  ports.waiting.add(transport);
  transport.onClaim(() => ports.waiting.delete(transport));
  transport.onEnd(() => ports.waiting.delete(transport));
  if (ports.draining()) transport.fail(FAILURES.draining);
  return transport;
}

/** Answers a stream call with its terminal alone: status 200, the error inside (wire section 12). */
export function refuseStream(response: HttpResponse, dialect: Dialect, method: StreamMethod, failure: Failure): void {
  const { tail, trailers } = encodeTerminal(dialect, { kind: "error", failure });
  const ignore = (): void => undefined;
  openOutlet(response, headersOf(dialect, method), dialect === "grpc", { drained: ignore, closed: ignore }).end(
    tail,
    trailers,
  );
}
