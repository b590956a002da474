import http from "node:http";
import http2 from "node:http2";
import type net from "node:net";
import tls from "node:tls";
import type { Clock } from "@chartroom/domain";
import { sniff } from "./sniff.ts";
import type { HttpHandler } from "./types.ts";

/** A certificate and its key, as PEM. */
export interface TlsIdentity {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One listening port for HTTP/1.1, HTTP/2 in the clear and, with a certificate, both over TLS. */
export interface Port {
  /** Port 0 takes a free one. Rejects with the system's error when it cannot listen. */
  listen(host: string, port: number): Promise<Address>;
  /** Takes no new connection, lets running requests end for at most `ms`, then closes the rest. */
  drain(ms: number): Promise<void>;
  /** Closes everything at once. */
  close(): Promise<void>;
}

/** Clients send an append at least every 5 s (wire section 7.1); a shorter pause would race with them. */
const KEEP_ALIVE_MS = 75_000;
const SNIFF_MS = 10_000;
const STREAM_WINDOW = 1024 * 1024;
const SESSION_WINDOW = 16 * 1024 * 1024;

/**
 * Makes the port. The HTTP/1.1 server listens, so that its time limits and its knowledge of idle connections hold;
 * each connection is looked at before it gets to it (`sniff`).
 */
export function createPort(handler: HttpHandler, clock: Clock, identity?: TlsIdentity): Port {
  const h1 = http.createServer({ keepAlive: true, keepAliveInitialDelay: 30_000, noDelay: true });
  h1.keepAliveTimeout = KEEP_ALIVE_MS;
  // a stream may stay open for hours; a request has to be complete in the time that `requestTimeout` leaves it
  h1.timeout = 0;
  const h2 = http2.createServer({
    settings: { initialWindowSize: STREAM_WINDOW, maxConcurrentStreams: 1000 },
    maxSessionMemory: 256,
  });

  const sockets = new Set<net.Socket>();
  const undecided = new Set<net.Socket>();
  const sessions = new Set<http2.ServerHttp2Session>();
  let draining = false;

  h2.on("session", (session) => {
    sessions.add(session);
    session.setLocalWindowSize(SESSION_WINDOW);
    session.once("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
    if (draining) session.close();
  });
  h2.on("sessionError", () => undefined);
  h1.on("clientError", (_error, socket) => socket.destroy());

  // what the HTTP/1.1 server does with a connection of its own
  const [serveHttp1] = h1.listeners("connection") as ((socket: net.Socket) => void)[];
  if (serveHttp1 === undefined) throw new Error("the HTTP server has no connection listener");
  h1.removeAllListeners("connection");
  const toHttp1 = (socket: net.Socket): void => serveHttp1.call(h1, socket);
  const toHttp2 = (socket: net.Socket): void => void h2.emit("connection", socket);

  const secure = identity && tls.createServer({ ...identity, ALPNProtocols: ["h2", "http/1.1"] });
  secure?.on("secureConnection", (socket) => (socket.alpnProtocol === "h2" ? toHttp2 : toHttp1)(socket));
  secure?.on("tlsClientError", (_error, socket) => socket.destroy());

  h1.on("connection", (socket: net.Socket) => {
    sockets.add(socket);
    undecided.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      undecided.delete(socket);
    });
    socket.on("error", () => socket.destroy());
    sniff(socket, clock, SNIFF_MS, (kind) => {
      undecided.delete(socket);
      if (kind === "http1") return toHttp1(socket);
      // the HTTP/1.1 server lets its connections stay half open; the others would wait for ever on one
      socket.allowHalfOpen = false;
      if (kind === "http2") toHttp2(socket);
      else if (secure === undefined) socket.destroy();
      else secure.emit("connection", socket);
    });
  });

  const serve: HttpHandler = (request, response) => {
    if (draining && "shouldKeepAlive" in response) response.shouldKeepAlive = false;
    response.once("close", () => {
      // an answer that began before the drain promised to keep its connection
      if (draining) setImmediate(() => h1.closeIdleConnections());
    });
    handler(request, response);
  };
  h1.on("request", serve);
  h2.on("request", serve);

  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const stopListening = (): Promise<void> =>
    new Promise((resolve) => {
      if (h1.listening) h1.close(() => resolve());
      else resolve();
    });

  return {
    listen: (host, port) => listen(h1, host, port),
    async drain(ms) {
      draining = true;
      const closed = stopListening();
      for (const socket of undecided) socket.destroy();
      for (const session of sessions) session.close();
      const timer = clock.setTimeout(destroyAll, ms);
      await closed;
      clock.clearTimeout(timer);
    },
    async close() {
      draining = true;
      const closed = stopListening();
      destroyAll();
      await closed;
    },
  };
}

function listen(server: http.Server, host: string, port: number): Promise<Address> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      const address = server.address() as net.AddressInfo;
      resolve({ host: address.address, port: address.port });
    });
  });
}
