import type { OutgoingHttpHeaders } from "node:http";
import type { Http2ServerResponse } from "node:http2";

/** HTTP/2 forbids them; Node throws on them, which would end the process, and the web framework's streams set two of them. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Makes a response leave out the headers of one hop. */
export function stripHopHeaders(response: Http2ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    headers?: OutgoingHttpHeaders,
  ) => Http2ServerResponse;
  const setHeader = response.setHeader.bind(response);
  response.writeHead = (status: number, ...rest: readonly unknown[]) => {
    const headers = rest.find((one) => typeof one === "object") as OutgoingHttpHeaders | undefined;
    return writeHead(status, headers && Object.fromEntries(Object.entries(headers).filter(([name]) => !isHop(name))));
  };
  response.setHeader = (name, value) => {
    if (!isHop(name)) setHeader(name, value);
  };
}

function isHop(name: string): boolean {
  return HOP_HEADERS.has(name.toLowerCase());
}
