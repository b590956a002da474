import type { EventEmitter } from "node:events";
import type http from "node:http";
import type http2 from "node:http2";
import type { HeaderSource } from "@chartroom/protocol";

export type HttpRequest = http.IncomingMessage | http2.Http2ServerRequest;
export type HttpResponse = http.ServerResponse | http2.Http2ServerResponse;
export type HttpHandler = (request: HttpRequest, response: HttpResponse) => void;

/** Whether the response goes out over HTTP/2, which has streams, trailers and full duplex. */
export function isHttp2(response: HttpResponse): response is http2.Http2ServerResponse {
  return "stream" in response;
}

/** Gives a header's value by its lower-case name; of a header that came several times, the first. */
export function headerSource(request: HttpRequest): HeaderSource {
  const { headers } = request;
  return (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
}

/** The path without its query. */
export function pathOf(request: HttpRequest): string {
  const url = request.url ?? "/";
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** For a stream whose end is watched by other means: an error on it must not end the process. */
export function ignoreErrors(stream: EventEmitter): void {
  stream.on("error", () => undefined);
}

/** Writes status and headers; the two kinds of response take them by signatures that do not unite. */
export function writeHead(response: HttpResponse, status: number, headers: http.OutgoingHttpHeaders): void {
  if (isHttp2(response)) response.writeHead(status, headers);
  else response.writeHead(status, headers);
}
