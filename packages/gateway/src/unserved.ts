import type { DomainEventListener } from "@chartroom/domain";
import { refuseStream } from "./agent/open-stream.ts";
import { FAILURES } from "./failures.ts";
import { answerFailure } from "./http/answer.ts";
import { discardBody } from "./http/body.ts";
import { type HttpRequest, type HttpResponse, isHttp2, pathOf } from "./http/types.ts";
import { dialectOf } from "./stream/dialect.ts";

const RPC_PATH = /^\/[A-Za-z][\w.]*\.[A-Za-z]\w*\/[A-Za-z]\w*$/;
/** Paths come from outside; past so many new ones are answered without a word in the log. */
const MAX_PATHS = 1000;
const MAX_PATH_LENGTH = 200;

/** Whether a request is an RPC by its form. */
export function isRpc(request: HttpRequest): boolean {
  return request.method === "POST" && RPC_PATH.test(pathOf(request));
}

/** Answers calls that are not served with `unimplemented`, and tells observers of each path once. */
export class Unserved {
  readonly #events: DomainEventListener;
  readonly #seen = new Set<string>();

  constructor(events: DomainEventListener) {
    this.#events = events;
  }

  async handle(request: HttpRequest, response: HttpResponse): Promise<void> {
    this.#note(pathOf(request).slice(0, MAX_PATH_LENGTH));
    await discardBody(request, response);
    const dialect = dialectOf(request.headers["content-type"], isHttp2(response));
    if (dialect === undefined) answerFailure(response, FAILURES.unserved);
    else refuseStream(response, dialect, "Run", FAILURES.unserved);
  }

  #note(path: string): void {
    if (this.#seen.has(path) || this.#seen.size >= MAX_PATHS) return;
    this.#seen.add(path);
    this.#events({ type: "rpc.unserved", path });
  }
}
