import type net from "node:net";
import type { Clock } from "@chartroom/domain";

export type ConnectionKind = "tls" | "http1" | "http2";

const PREFACE = Buffer.from("PRI * HTTP/2.0");
const TLS_HANDSHAKE = 0x16;

/** What the first bytes of a connection say; `undefined`: too few to tell. */
export function connectionKind(head: Uint8Array): ConnectionKind | undefined {
  if (head.length === 0) return undefined;
  if (head[0] === TLS_HANDSHAKE) return "tls";
  const length = Math.min(head.length, PREFACE.length);
  if (!PREFACE.subarray(0, length).equals(head.subarray(0, length))) return "http1";
  return length === PREFACE.length ? "http2" : undefined;
}

/**
 * Looks at the first bytes of a connection, gives them back to it and says what it is, once. A connection that ends, or
 * lets `limitMs` pass, before it has said enough is closed.
 */
export function sniff(
  socket: net.Socket,
  clock: Clock,
  limitMs: number,
  decided: (kind: ConnectionKind) => void,
): void {
  let head: Buffer = Buffer.alloc(0);
  const close = (): void => void socket.destroy();
  const timer = clock.setTimeout(close, limitMs);
  const look = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    const kind = connectionKind(head);
    if (kind === undefined) return;
    clock.clearTimeout(timer);
    socket.off("readable", look);
    socket.off("end", close);
    socket.unshift(head);
    decided(kind);
  };
  socket.on("readable", look);
  socket.once("end", close);
  socket.once("close", () => clock.clearTimeout(timer));
}
