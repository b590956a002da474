import type { Clock } from "@chartroom/domain";
import type { Readable, Writable } from "node:stream";

/** The other side answered with an error, or there is no answer to be had. */
export class RpcError extends Error {
  override readonly name = "RpcError";
}

export type RpcHandler = (method: string, params: unknown) => unknown;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** JSON-RPC 2.0 with one message a line, as MCP speaks it over a program's standard streams. */
export class JsonRpc {
  readonly #output: Writable;
  readonly #clock: Clock;
  readonly #handler: RpcHandler;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #rest = "";
  #closed: string | undefined;

  /** `handler` answers requests of the other side; what it throws becomes "method not found". */
  constructor(input: Readable, output: Writable, clock: Clock, handler: RpcHandler) {
    this.#output = output;
    this.#clock = clock;
    this.#handler = handler;
    input.setEncoding("utf8");
    input.on("data", (text: string) => this.#take(text));
    input.on("error", () => this.close("its output broke"));
    output.on("error", () => this.close("its input broke"));
  }

  /** Asks; rejects with an `RpcError` on an error, after `timeoutMs`, when `signal` aborts or when the peer is gone. */
  request(method: string, params: unknown, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
    if (this.#closed !== undefined) return Promise.reject(new RpcError(this.#closed));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiting.delete(id);
        this.#clock.clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
      };
      const giveUp = (reason: string) => {
        settle();
        this.notify("notifications/cancelled", { requestId: id, reason });
        reject(new RpcError(reason));
      };
      const aborted = () => giveUp("stopped");
      const timer = this.#clock.setTimeout(() => giveUp(`no answer to ${method} in ${timeoutMs} ms`), timeoutMs);
      signal?.addEventListener("abort", aborted, { once: true });
      this.#waiting.set(id, {
        resolve: (result) => {
          settle();
          resolve(result);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.#send({ jsonrpc: "2.0", id, method, params });
      if (signal?.aborted) aborted();
    });
  }

  notify(method: string, params?: unknown): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  /** The peer is gone: everything that waits fails with this reason. */
  close(reason: string): void {
    this.#closed ??= reason;
    for (const waiting of this.#waiting.values()) waiting.reject(new RpcError(reason));
  }

  #send(message: object): void {
    if (this.#closed === undefined && this.#output.writable) this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line.trim());
  }

  #line(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      // servers print other things too
      return;
    }
    for (const one of Array.isArray(message) ? message : [message]) this.#message(one);
  }

  #message(message: unknown): void {
    if (typeof message !== "object" || message === null) return;
    const { id, method, params, result, error } = message as Record<string, unknown>;
    if (typeof method === "string") {
      if (id !== undefined && id !== null) void this.#answer(id, method, params);
      return;
    }
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined;
    if (error !== undefined) waiting?.reject(new RpcError(errorText(error)));
    else waiting?.resolve(result);
  }

  async #answer(id: unknown, method: string, params: unknown): Promise<void> {
    try {
      this.#send({ jsonrpc: "2.0", id, result: await this.#handler(method, params) });
    } catch {
      this.#send({ jsonrpc: "2.0", id, error: { code: -32601, message: `${method} is not served` } });
    }
  }
}

function errorText(error: unknown): string {
  const message = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : undefined;
  return typeof message === "string" ? message : "the server answered with an error";
}
