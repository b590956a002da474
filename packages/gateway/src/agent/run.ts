import type http2 from "node:http2";
import { parseHeaders, type CallHeaders, wireFailure } from "@chartroom/protocol";
import type { Principal } from "@chartroom/domain";
import type { Exchange } from "../exchange/exchange.ts";
import { FAILURES } from "../failures.ts";
import { answer } from "../http/answer.ts";
import { headerSource, type HttpRequest, type HttpResponse, isHttp2 } from "../http/types.ts";
import type { Transport } from "../stream/transport.ts";
import { admitStream } from "./admit-stream.ts";
import { openStream } from "./open-stream.ts";
import type { AgentPorts } from "./ports.ts";
import { StreamUplink } from "./stream-uplink.ts";

/** After the terminal a client half-closes its side (wire section 3.1); one that does not is helped. */
const HALF_CLOSE_MS = 1000;
const NO_ERROR = 0;

/** `Run`: both directions of a stream in one call, over HTTP/2 (wire section 3.1). */
export async function handleRun(request: HttpRequest, response: HttpResponse, ports: AgentPorts): Promise<void> {
  if (!isHttp2(response)) {
    request.resume();
    answer(response, 505, { "content-type": "text/plain; charset=utf-8" }, FAILURES.httpVersion.detail);
    return;
  }
  const admitted = await admitStream(request, response, "Run", ports);
  if (admitted === undefined) return;
  const transport = openStream(response, admitted.dialect, "Run", ports);
  transport.onEnd(() => releaseStream(request, response, ports));
  const headers = parseHeaders(headerSource(request));
  if (!headers.ok) return transport.fail(wireFailure(headers.error));
  const exchange = exchangeOf(admitted.principal, headers.value, ports);
  if (exchange === undefined) return transport.fail(FAILURES.tooManyExchanges);
  readUplink(request, transport, new StreamUplink(exchange, transport, headers.value, ports.limits));
}

/** A stream without a request id gets an exchange of its own. */
function exchangeOf(principal: Principal, headers: CallHeaders, ports: AgentPorts): Exchange | undefined {
  if (headers.requestId === undefined) return ports.exchanges.make(principal);
  return ports.exchanges.get(principal, headers.requestId)?.exchange;
}

function readUplink(request: HttpRequest, transport: Transport, uplink: StreamUplink): void {
  uplink.onCrowded = () => request.pause();
  uplink.onRoom = () => request.resume();
  request.on("data", (chunk: Buffer) => {
    if (transport.open) uplink.push(chunk);
  });
  request.once("end", () => {
    if (transport.open) uplink.end();
  });
}

/** What the client still sends is read and thrown away; a stream that it leaves open is closed. */
function releaseStream(request: HttpRequest, response: http2.Http2ServerResponse, ports: AgentPorts): void {
  request.resume();
  const stream: http2.ServerHttp2Stream | undefined = response.stream;
  if (stream === undefined || stream.closed) return;
  const timer = ports.clock.setTimeout(() => stream.close(NO_ERROR), HALF_CLOSE_MS);
  stream.once("close", () => ports.clock.clearTimeout(timer));
}
