import type { ModelEvent, ModelProvider } from "@chartroom/domain";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ProviderConfig } from "../src/config.ts";
import { createModelDirectory, type OpenModelDirectory } from "../src/index.ts";
import { fakeVendor, until, type Arrived, type FakeVendor } from "./fake-vendor.ts";
import { HandClock } from "./hand-clock.ts";
import { collect, limits, request, textOf } from "./requests.ts";

export const KEY = "sk-test-0123456789abcdef";

/** One vendor's wire format, as the contract needs it. */
export interface Vendor {
  config(baseUrl: string): ProviderConfig;
  /** A complete answer, one network write each, with text, thinking and two parallel calls. */
  readonly answer: readonly string[];
  /** What the adapter makes of it. */
  readonly events: readonly ModelEvent[];
  /** How many of the writes there must be for the answer to count as ended. */
  readonly complete: number;
  /** A write that adds the text `x`. */
  readonly more: string;
  /** What may come at any time and means nothing. */
  readonly noise: readonly string[];
  readonly overloaded: string;
  readonly errorBody: (message: string) => string;
}

/** What every adapter that calls a vendor over HTTP must do (the four stream rules, the limits, abort, back-pressure). */
export function providerContract(name: string, vendor: Vendor): void {
  describe(`${name}: contract of a provider`, () => {
    let server: FakeVendor;
    let clock: HandClock;
    let directory: OpenModelDirectory;
    let provider: ModelProvider;

    beforeEach(async () => {
      server = await fakeVendor();
      clock = new HandClock();
      const made = createModelDirectory({ providers: [vendor.config(server.url)] }, { clock });
      if (!made.ok) throw new Error(JSON.stringify(made.error));
      directory = made.value;
      provider = directory.resolve("default")!.provider;
    });
    afterEach(async () => {
      await directory.close();
      await server.close();
    });

    const start = (signal: AbortSignal = new AbortController().signal) => provider.stream(request(), limits, signal);
    /** Begins a stream, and has the vendor do something with the request. */
    const run = async (serve: (arrived: Arrived) => void | Promise<void>): Promise<readonly ModelEvent[]> => {
      const events = collect(start());
      await serve(await server.next());
      return checked(await events);
    };
    /** Pulls batches by hand: what it has given so far, and whether it has ended. */
    const reader = (signal?: AbortSignal) => {
      const stream = start(signal)[Symbol.asyncIterator]();
      const seen: ModelEvent[] = [];
      const pull = async (): Promise<boolean> => {
        const next = await stream.next();
        if (next.done !== true) seen.push(...next.value);
        return next.done !== true;
      };
      return { stream, seen, pull };
    };

    it("gives the whole answer as events", async () => {
      const events = await run((arrived) => {
        arrived.begin();
        for (const part of vendor.answer) arrived.write(part);
        arrived.end();
      });
      expect(events).toEqual(vendor.events);
    });

    it("makes the same of it however the network cuts it, also inside a character", async () => {
      const bytes = Buffer.from(vendor.answer.join(""), "utf8");
      const events = await run(async (arrived) => {
        arrived.begin();
        for (let at = 0; at < bytes.length; at += 7) {
          arrived.write(bytes.subarray(at, at + 7));
          await new Promise((resolve) => setImmediate(resolve));
        }
        arrived.end();
      });
      expect(joined(events)).toEqual(joined(vendor.events));
    });

    it("passes over comments, unknown events, unknown fields and carriage returns", async () => {
      const events = await run((arrived) => {
        arrived.begin();
        for (const part of vendor.answer) {
          for (const noise of vendor.noise) arrived.write(noise);
          arrived.write(part.replaceAll("\n", "\r\n"));
        }
        arrived.end();
      });
      expect(joined(events)).toEqual(joined(vendor.events));
    });

    it.each(vendor.answer.map((_, at) => at))(
      "a clean end after %i parts is an answer only if its terminal event came",
      async (at) => {
        const events = await run((arrived) => {
          arrived.begin();
          for (const part of vendor.answer.slice(0, at)) arrived.write(part);
          arrived.end();
        });
        expectCut(events, at);
      },
    );

    it.each(vendor.answer.map((_, at) => at))(
      "a reset after %i parts is an answer only if its terminal event came",
      async (at) => {
        const { seen, pull } = reader();
        const pulling = (async () => {
          while (await pull());
        })();
        const arrived = await server.next();
        // a reset throws away what is still under way, so everything is seen first: the headers, then each part
        const arrives = async (send: () => void): Promise<void> => {
          const reads = clock.reads;
          send();
          await until(() => clock.reads > reads, "it to arrive");
        };
        await arrives(() => arrived.begin());
        for (const part of vendor.answer.slice(0, at)) await arrives(() => arrived.write(part));
        arrived.reset();
        await pulling;
        expectCut(checked(seen), at);
      },
    );

    /** The events are those of the full answer, as far as it came; then `finished`, or `failed` as interrupted. */
    function expectCut(events: readonly ModelEvent[], at: number): void {
      if (at >= vendor.complete) return expect(events.at(-1)).toEqual(vendor.events.at(-1));
      expect(events.at(-1)).toMatchObject({ type: "failed", failure: { kind: "interrupted", retryable: true } });
      const shown = joined(events.filter((event) => event.type !== "failed" && event.type !== "usage"));
      const whole = joined(vendor.events.filter((event) => event.type !== "usage"));
      expect(JSON.stringify(whole).startsWith(JSON.stringify(shown).slice(0, -3))).toBe(true);
    }

    it("an error event in the middle is the end, and the connection is closed", async () => {
      const events = await run(async (arrived) => {
        arrived.begin();
        arrived.write(vendor.more);
        arrived.write(vendor.overloaded);
        arrived.write(vendor.more);
        await arrived.closed;
      });
      expect(textOf(events)).toBe("x");
      expect(events.at(-1)).toMatchObject({ type: "failed", failure: { kind: "overloaded", retryable: true } });
    });

    it("an event that cannot be read is the vendor's failure", async () => {
      const events = await run(async (arrived) => {
        arrived.begin();
        arrived.write("data: {oops\n\n");
        await arrived.closed;
      });
      expect(events).toEqual([expect.objectContaining({ type: "failed" })]);
      expect(events[0]).toMatchObject({ failure: { kind: "server", retryable: true } });
    });

    it("PR-04: no headers in time", async () => {
      const { seen, pull } = reader();
      const first = pull();
      const arrived = await server.next();
      clock.advance(limits.headersMs - 1);
      expect(seen).toEqual([]);
      clock.advance(1);
      await first;
      expect(seen).toMatchObject([{ type: "failed", failure: { kind: "timeout", retryable: true } }]);
      await arrived.closed;
      expect(await pull()).toBe(false);
    });

    it("PR-04: silence ends it, each byte renews, also one that means nothing", async () => {
      const { seen, pull } = reader();
      const first = pull();
      const arrived = await server.next();
      arrived.begin();
      arrived.write(vendor.more);
      await first;
      const second = pull();
      for (const noise of [": ping\n\n", ...vendor.noise, ": ping\n\n"]) {
        clock.advance(limits.idleMs - 1);
        const reads = clock.reads;
        arrived.write(noise);
        await until(() => clock.reads > reads, "the noise to arrive");
      }
      clock.advance(limits.idleMs - 1);
      expect(textOf(seen)).toBe("x");
      clock.advance(1);
      await second;
      expect(seen.at(-1)).toMatchObject({ type: "failed", failure: { kind: "timeout", retryable: true } });
      await arrived.closed;
    });

    it("the total limit holds however much comes, and is not worth a retry", async () => {
      const { seen, pull } = reader();
      const first = pull();
      const arrived = await server.next();
      arrived.begin();
      arrived.write(vendor.more);
      await first;
      const second = pull();
      const step = limits.idleMs / 2;
      for (let passed = 0; passed + step < limits.totalMs; passed += step) {
        clock.advance(step);
        const reads = clock.reads;
        arrived.write(": ping\n\n");
        await until(() => clock.reads > reads, "the ping to arrive");
      }
      clock.advance(step);
      await second;
      expect(seen.at(-1)).toMatchObject({ type: "failed", failure: { kind: "timeout", retryable: false } });
      await arrived.closed;
    });

    describe("abort", () => {
      it("before the start: no request at all", async () => {
        const abort = new AbortController();
        abort.abort();
        expect(checked(await collect(start(abort.signal)))).toMatchObject([{ failure: { kind: "aborted" } }]);
        expect(server.connections).toBe(0);
      });

      it("before the headers", async () => {
        const abort = new AbortController();
        const events = collect(start(abort.signal));
        const arrived = await server.next();
        abort.abort();
        expect(checked(await events)).toMatchObject([
          { type: "failed", failure: { kind: "aborted", retryable: false } },
        ]);
        await arrived.closed;
      });

      it("in the stream, with a reader that waits and with one that does not", async () => {
        const abort = new AbortController();
        const { seen, pull } = reader(abort.signal);
        const first = pull();
        const arrived = await server.next();
        arrived.begin();
        arrived.write(vendor.more);
        await first;
        const second = pull();
        abort.abort();
        await second;
        expect(seen.at(-1)).toMatchObject({ failure: { kind: "aborted" } });
        await arrived.closed;

        const again = new AbortController();
        const idle = reader(again.signal);
        const begun = idle.pull();
        const next = await server.next();
        next.begin();
        next.write(vendor.more);
        await begun;
        again.abort();
        await next.closed;
        expect(await idle.pull()).toBe(true);
        expect(await idle.pull()).toBe(false);
        expect(checked(idle.seen).at(-1)).toMatchObject({ failure: { kind: "aborted" } });
      });

      it("in the body of an error", async () => {
        const abort = new AbortController();
        const events = collect(start(abort.signal));
        const arrived = await server.next();
        arrived.response.writeHead(500, { "content-type": "application/json" });
        const reads = clock.reads;
        arrived.response.write("{");
        await until(() => clock.reads > reads + 1, "the body to arrive");
        abort.abort();
        expect(checked(await events)).toMatchObject([{ failure: { kind: "aborted" } }]);
        await arrived.closed;
      });

      it("after the end changes nothing", async () => {
        const abort = new AbortController();
        const events = collect(start(abort.signal));
        const arrived = await server.next();
        arrived.begin();
        for (const part of vendor.answer) arrived.write(part);
        arrived.end();
        expect((await events).at(-1)).toMatchObject({ type: "finished" });
        abort.abort();
        expect(clock.pending).toBe(0);
      });
    });

    it("a reader that leaves closes the connection", async () => {
      const { stream, pull } = reader();
      const first = pull();
      const arrived = await server.next();
      arrived.begin();
      arrived.write(vendor.more);
      await first;
      await stream.return?.();
      await arrived.closed;
      expect(await pull()).toBe(false);
      expect(clock.pending).toBe(0);
    });

    it("back-pressure: a reader that stops pulling stops the vendor, and loses nothing", async () => {
      const { seen, pull } = reader();
      const first = pull();
      const arrived = await server.next();
      arrived.begin();
      arrived.write(vendor.more);
      await first;
      const block = vendor.more.repeat(2_000);
      const blocks = Math.ceil((64 * 1024 * 1024) / block.length);
      let sent = 0;
      const send = (): void => {
        while (sent < blocks) {
          sent++;
          if (!arrived.write(block)) return void arrived.response.once("drain", send);
        }
        for (const part of vendor.answer) arrived.write(part);
        arrived.end();
      };
      send();
      let before = -1;
      // it stands still when nothing more was taken over many turns
      for (let still = 0; still < 500; still = sent === before ? still + 1 : 0) {
        before = sent;
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(sent).toBeLessThan(blocks / 2);
      // silence that the reader itself causes is not the vendor's
      clock.advance(limits.idleMs * 2);
      while (await pull());
      expect(checked(seen).at(-1)).toMatchObject({ type: "finished" });
      expect(textOf(seen).replaceAll(/[^x]/g, "").length).toBeGreaterThanOrEqual(blocks * 2_000 + 1);
    }, 30_000);

    it("the connection is used again, and idle ones do not pile up", async () => {
      for (let n = 0; n < 3; n++) {
        await run((arrived) => {
          arrived.begin();
          for (const part of vendor.answer) arrived.write(part);
          arrived.end();
        });
        await until(() => clock.pending === 0, "the response to end");
        // the client puts its connection back a turn or two later
        for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
      expect(server.connections).toBe(1);
    });

    it("an answer that has ended but whose response does not close is closed", async () => {
      const events = collect(start());
      const arrived = await server.next();
      arrived.begin();
      for (const part of vendor.answer) arrived.write(part);
      expect((await events).at(-1)).toMatchObject({ type: "finished" });
      clock.advance(1_000);
      await arrived.closed;
    });

    it("a vendor that cannot be reached", async () => {
      await server.close();
      const events = checked(await collect(start()));
      expect(events).toMatchObject([{ type: "failed", failure: { kind: "transport", retryable: true } }]);
      expect(JSON.stringify(events)).not.toContain("127.0.0.1");
    });

    it.each([
      [400, "invalidRequest", false],
      [401, "auth", false],
      [403, "auth", false],
      [404, "modelNotFound", false],
      [408, "timeout", true],
      [413, "overflow", false],
      [429, "rateLimit", true],
      [500, "server", true],
      [502, "server", true],
      [503, "overloaded", true],
      [504, "timeout", true],
      [529, "overloaded", true],
    ] as const)("status %i is %s, and its message names neither key nor address", async (status, kind, retryable) => {
      const said = `Key ${KEY} is bad at ${server.url}/v1 (see https://vendor.example/docs?x=1).`;
      const events = await run((arrived) => {
        arrived.answer(status, { "content-type": "application/json" }, vendor.errorBody(said));
      });
      expect(events).toMatchObject([{ type: "failed", failure: { kind, status, retryable } }]);
      const text = JSON.stringify(events);
      expect(text).toContain("is bad at");
      expect(text).not.toContain(KEY);
      expect(text).not.toContain("127.0.0.1");
      expect(text).not.toContain("vendor.example");
    });

    it("PR-07: Retry-After in its three forms", async () => {
      const ask = async (headers: Readonly<Record<string, string>>) => {
        const events = await run((arrived) => arrived.answer(429, headers, vendor.errorBody("slow down")));
        return events[0]?.type === "failed" ? events[0].failure.retryAfterMs : "no failure";
      };
      expect(await ask({ "retry-after-ms": "700" })).toBe(700);
      expect(await ask({ "retry-after": "2" })).toBe(2_000);
      const date = new Date(clock.now() + 5_000).toUTCString();
      expect(await ask({ "retry-after": date })).toBe(Date.parse(date) - clock.now());
      expect(await ask({})).toBe(undefined);
    });

    it("a page instead of a stream is no answer", async () => {
      const events = await run((arrived) => {
        arrived.answer(200, { "content-type": "text/html" }, "<html><body>Welcome</body></html>");
      });
      expect(events).toMatchObject([{ type: "failed", failure: { kind: "invalidRequest", retryable: false } }]);
    });

    it("a redirect is not followed", async () => {
      const events = await run((arrived) => arrived.answer(302, { location: "http://127.0.0.1:1/" }, ""));
      expect(events).toMatchObject([{ type: "failed", failure: { kind: "invalidRequest", retryable: false } }]);
    });
  });
}

const isEnd = (event: ModelEvent): boolean => event.type === "finished" || event.type === "failed";

/** Exactly one terminal event, and it is the last. */
function checked(events: readonly ModelEvent[]): readonly ModelEvent[] {
  expect(events.filter(isEnd)).toHaveLength(1);
  expect(events.findIndex(isEnd)).toBe(events.length - 1);
  return events;
}

/** Adjacent deltas as one, so that the cuts of the network do not matter. */
export function joined(events: readonly ModelEvent[]): readonly ModelEvent[] {
  const out: ModelEvent[] = [];
  for (const event of events) {
    const last = out.at(-1);
    if (last?.type === "text" && event.type === "text") out[out.length - 1] = { ...last, text: last.text + event.text };
    else if (last?.type === "thinking" && event.type === "thinking")
      out[out.length - 1] = { ...last, text: last.text + event.text };
    else if (last?.type === "callArguments" && event.type === "callArguments" && last.index === event.index) {
      out[out.length - 1] = { ...last, text: last.text + event.text };
    } else out.push(event);
  }
  return out;
}
