import type http from "node:http";
import type http2 from "node:http2";
import { isHttp2, type HttpResponse } from "../http/types.ts";

const CANCEL = 8;

export type OutgoingHeaders = Readonly<Record<string, string>>;

/** The sending half of an open response. */
export interface Outlet {
  /** `false`: full, wait for `drained`. */
  write(chunk: Uint8Array): boolean;
  /** Writes the last bytes and ends; `trailers` go after them where the protocol has trailers. */
  end(chunk: Uint8Array, trailers?: OutgoingHeaders): void;
  destroy(): void;
}

export interface OutletEvents {
  readonly drained: () => void;
  /** The response is over, once; `finished`: everything was handed to the system. */
  readonly closed: (finished: boolean) => void;
}

/** Sends status 200 and the headers with the first write, and gives the way to the body. */
export function openOutlet(
  response: HttpResponse,
  headers: OutgoingHeaders,
  withTrailers: boolean,
  events: OutletEvents,
): Outlet {
  return isHttp2(response)
    ? http2Outlet(response, headers, withTrailers, events)
    : http1Outlet(response, headers, events);
}

function http1Outlet(response: http.ServerResponse, headers: OutgoingHeaders, events: OutletEvents): Outlet {
  response.writeHead(200, headers);
  response.on("drain", events.drained);
  // a write to a connection that broke; `close` follows
  response.on("error", () => undefined);
  response.once("close", () => events.closed(response.writableFinished));
  if (response.destroyed) queueMicrotask(() => events.closed(false));
  return {
    write: (chunk) => response.write(chunk),
    end: (chunk) => void response.end(chunk),
    destroy: () => void response.destroy(),
  };
}

/** Writes to the stream itself: the compatibility response costs a closure and two checks per write. */
function http2Outlet(
  response: http2.Http2ServerResponse,
  headers: OutgoingHeaders,
  withTrailers: boolean,
  events: OutletEvents,
): Outlet {
  const stream: http2.ServerHttp2Stream | undefined = response.stream;
  const gone = stream === undefined || stream.destroyed || stream.closed;
  if (gone) {
    queueMicrotask(() => events.closed(false));
    return { write: () => true, end: () => undefined, destroy: () => undefined };
  }
  stream.on("drain", events.drained);
  stream.on("error", () => undefined);
  stream.once("close", () => events.closed(stream.writableFinished));
  stream.respond({ ":status": 200, ...headers }, { waitForTrailers: withTrailers });
  return {
    write: (chunk) => stream.write(chunk),
    end: (chunk, trailers) => {
      // the compatibility response sends the trailers that are set on it
      if (trailers !== undefined) response.addTrailers(trailers);
      stream.end(chunk);
    },
    destroy: () => stream.close(CANCEL),
  };
}
