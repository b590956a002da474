import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import type { Readable, Writable } from "node:stream";

/** How a client reaches the port: protocol version, with or without TLS. */
export type PeerKind = "h1" | "h2c" | "tls-h1" | "tls-h2";
export const PEER_KINDS: readonly PeerKind[] = ["h1", "h2c", "tls-h1", "tls-h2"];

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** An open call: its body goes up as it is written, its answer comes as it comes. */
export interface OpenCall {
  readonly up: Writable;
  /** Resolves with the headers of the answer. */
  readonly head: Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly down: Readable;
  }>;
  /** Trailers of HTTP/2, once the answer is over. */
  readonly trailers: () => Readonly<Record<string, string>>;
  /** Drops the call without a word. */
  abort(): void;
}

export interface Peer {
  readonly kind: PeerKind;
  open(method: string, path: string, headers?: Readonly<Record<string, string>>): OpenCall;
  /** A whole request and its whole answer. */
  send(
    method: string,
    path: string,
    headers?: Readonly<Record<string, string>>,
    body?: Uint8Array | string,
  ): Promise<Reply>;
  close(): void;
}

export function peerOf(kind: PeerKind, port: number, ca: string, token: string): Peer {
  const authorization: Record<string, string> = token === "" ? {} : { authorization: `Bearer ${token}` };
  const base = kind === "h1" || kind === "tls-h1" ? http1Peer(kind, port, ca) : http2Peer(kind, port, ca);
  const open: Peer["open"] = (method, path, headers = {}) => base.open(method, path, { ...authorization, ...headers });
  return {
    kind,
    open,
    async send(method, path, headers = {}, body = "") {
      const call = open(method, path, headers);
      call.up.end(body);
      const { status, headers: got, down } = await call.head;
      const chunks: Buffer[] = [];
      for await (const chunk of down) chunks.push(chunk as Buffer);
      return { status, headers: got, body: Buffer.concat(chunks) };
    },
    close: base.close,
  };
}

type Base = Pick<Peer, "open" | "close">;

function http1Peer(kind: "h1" | "tls-h1", port: number, ca: string): Base {
  const options = { host: "127.0.0.1", port };
  const agent = kind === "h1" ? new http.Agent({ keepAlive: true }) : new https.Agent({ keepAlive: true, ca });
  return {
    open(method, path, headers) {
      const all = { ...options, agent, method, path, headers: { ...headers } };
      const request = kind === "h1" ? http.request(all) : https.request({ ...all, ca });
      const head = new Promise<http.IncomingMessage>((resolve, reject) => {
        request.once("response", resolve);
        request.once("error", reject);
      }).then((response) => {
        response.on("error", () => undefined);
        return { status: response.statusCode ?? 0, headers: flat(response.headers), down: response };
      });
      head.catch(() => undefined);
      request.flushHeaders();
      return { up: request, head, trailers: () => ({}), abort: () => request.destroy() };
    },
    close: () => agent.destroy(),
  };
}

function http2Peer(kind: "h2c" | "tls-h2", port: number, ca: string): Base {
  const session = http2.connect(`${kind === "h2c" ? "http" : "https"}://127.0.0.1:${port}`, { ca });
  session.on("error", () => undefined);
  return {
    open(method, path, headers) {
      const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: false });
      const trailers: Record<string, string> = {};
      stream.on("trailers", (got) => Object.assign(trailers, flat(got)));
      const head = new Promise<{ status: number; headers: Record<string, string>; down: Readable }>(
        (resolve, reject) => {
          stream.once("response", (got) =>
            resolve({ status: Number(got[":status"]), headers: flat(got), down: stream }),
          );
          stream.once("error", reject);
          stream.once("close", () => reject(new Error("closed without an answer")));
        },
      );
      head.catch(() => undefined);
      stream.on("error", () => undefined);
      return { up: stream, head, trailers: () => trailers, abort: () => stream.close(http2.constants.NGHTTP2_CANCEL) };
    },
    close: () => session.destroy(),
  };
}

function flat(headers: http.IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
