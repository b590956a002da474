import http, { type IncomingHttpHeaders, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";

/** A request that reached the vendor, and full control over its answer. */
export interface Arrived {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Sends the headers of a stream at once. */
  begin(headers?: Readonly<Record<string, string>>): void;
  /** Puts these bytes on the wire, as one write. */
  write(data: string | Buffer): boolean;
  /** Ends the answer properly. */
  end(): void;
  /** Breaks the connection off. */
  reset(): void;
  answer(status: number, headers: Readonly<Record<string, string>>, body: string): void;
  readonly response: ServerResponse;
  /** The client has closed the connection before the answer ended. */
  readonly closed: Promise<void>;
}

/** A vendor on loopback that does to each request exactly what a test says. */
export interface FakeVendor {
  readonly url: string;
  /** Connections that were made so far, and those that are open. */
  readonly connections: number;
  readonly open: number;
  /** The next request that nobody has taken yet. */
  next(): Promise<Arrived>;
  close(): Promise<void>;
}

export interface TlsFiles {
  readonly key: string;
  readonly cert: string;
}

export async function fakeVendor(tls?: TlsFiles): Promise<FakeVendor> {
  const arrived: Arrived[] = [];
  const takers: ((one: Arrived) => void)[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const listener = (request: http.IncomingMessage, response: ServerResponse): void => {
    const parts: Buffer[] = [];
    const closed = Promise.withResolvers<void>();
    response.on("close", () => (response.writableFinished ? undefined : closed.resolve()));
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const one: Arrived = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(parts).toString("utf8"),
        begin(headers = {}) {
          response.writeHead(200, { "content-type": "text/event-stream", ...headers });
          response.flushHeaders();
        },
        write: (data) => response.write(data),
        end: () => response.end(),
        reset: () => request.socket.resetAndDestroy(),
        answer: (status, headers, body) => response.writeHead(status, headers).end(body),
        response,
        closed: closed.promise,
      };
      const taker = takers.shift();
      if (taker) taker(one);
      else arrived.push(one);
    });
  };
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener);
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    connections++;
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    next: () =>
      new Promise((resolve) => {
        const one = arrived.shift();
        if (one) resolve(one);
        else takers.push(resolve);
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Waits, turn by turn of the event loop, until something holds; fails after many turns. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 5_000;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
