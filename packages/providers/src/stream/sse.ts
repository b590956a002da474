/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** The `event:` field; empty when there was none. */
  readonly event: string;
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/** More text than this without a line end is no event stream (characters). */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Cuts text into server-sent events, however the network cut it: LF and CRLF, comments, several data lines, a byte order
 * mark. `id` and `retry` mean nothing here, because a model's stream cannot be resumed.
 */
export class SseParser {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #first = true;

  /** Takes the next text; gives the events that it completes. Throws a RangeError when a line is longer than 64 Mi characters. */
  push(text: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    // what was there before holds no line end
    let from = this.#rest.length;
    let buffer = from === 0 ? text : this.#rest + text;
    if (this.#first && buffer.length > 0) {
      this.#first = false;
      if (buffer.charCodeAt(0) === 0xfeff) buffer = buffer.slice(1);
    }
    let at = 0;
    for (let end = buffer.indexOf("\n", from); end !== -1; end = buffer.indexOf("\n", at)) {
      const line = buffer.slice(at, end > at && buffer.charCodeAt(end - 1) === 13 ? end - 1 : end);
      at = end + 1;
      from = at;
      this.#line(line, events);
    }
    this.#rest = at === 0 ? buffer : buffer.slice(at);
    if (this.#rest.length > MAX_LINE) throw new RangeError("a line of the event stream is too long");
    return events;
  }

  /** The stream ended: the event that still lacks its closing blank line, if there is one. */
  end(): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    if (this.#rest !== "") this.#line(this.#rest.replace(/\r$/, ""), events);
    this.#rest = "";
    this.#line("", events);
    return events;
  }

  #line(line: string, events: ServerSentEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({ event: this.#event, data: this.#data.length === 1 ? this.#data[0]! : this.#data.join("\n") });
      }
      this.#event = "";
      this.#data = [];
    } else if (line.startsWith("data:")) {
      this.#data.push(line.slice(line.charCodeAt(5) === 32 ? 6 : 5));
    } else if (line.startsWith("event:")) {
      this.#event = line.slice(6).trim();
    }
  }
}
