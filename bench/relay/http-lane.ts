import net from "node:net";
import { nowUs } from "../lib/stats.ts";
import type { Lane, OnChunk, Road, Streamed } from "./lane.ts";
import { MarkReader } from "./marks.ts";

/** Straight HTTP/1.1 to the provider or through the pipe, by a client that does as little as possible: it looks for marks. */
export function httpRoad(name: string, port: number): Road {
  return { name, lane: () => HttpLane.open(port) };
}

const END = Buffer.from("\r\n0\r\n\r\n");

class HttpLane implements Lane {
  readonly #socket: net.Socket;
  readonly #port: number;
  #receive: (data: Buffer) => void = () => undefined;
  #lost: () => void = () => undefined;

  static open(port: number): Promise<HttpLane> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: "127.0.0.1", port, noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => resolve(new HttpLane(socket, port)));
    });
  }

  constructor(socket: net.Socket, port: number) {
    this.#socket = socket;
    this.#port = port;
    socket.on("data", (data) => this.#receive(data));
    socket.on("error", () => undefined);
    socket.on("close", () => this.#lost());
  }

  stream(model: string, onChunk?: OnChunk): Promise<Streamed> {
    return new Promise((resolve) => {
      const body = JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "Say something." }] });
      const begun = nowUs();
      const marks = new MarkReader();
      let chunks = 0;
      let firstUs = 0;
      let tail = Buffer.alloc(0);
      const done = (error?: string): void => {
        this.#receive = () => undefined;
        this.#lost = () => undefined;
        resolve({ chunks, firstUs, ...(error !== undefined && { error }) });
      };
      this.#lost = () => done("the connection was closed");
      this.#receive = (data) => {
        const now = nowUs();
        marks.push(data, now, (latency) => {
          chunks++;
          if (firstUs === 0) firstUs = now - begun;
          onChunk?.(latency);
        });
        tail = Buffer.concat([tail, data]).subarray(-END.length);
        if (tail.equals(END)) done();
      };
      this.#socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${this.#port}\r\ncontent-type: application/json\r\nauthorization: Bearer bench\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
