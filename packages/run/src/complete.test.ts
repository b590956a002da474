import { describe, expect, it } from "vitest";
import { call, failed, finished, limits, request, scripted, text, thinking } from "../test/scripted.ts";
import { complete } from "./complete.ts";

const signal = new AbortController().signal;
const ask = (...batches: Parameters<typeof scripted>[0]) =>
  complete({ provider: scripted(batches), request, limits, signal });

describe("complete", () => {
  it("gives the text alone, with the usage", async () => {
    const usage = { inputTokens: 4 };
    const done = await ask(
      [thinking("hm"), text("A "), call(0, "a", "Read")],
      [text("title"), { type: "usage", usage }, finished("stop")],
    );
    expect(done).toEqual({ ok: true, text: "A title", truncated: false, called: true, usage });
  });

  it("says when the output limit cut it", async () => {
    expect(await ask([text("A"), finished("length")])).toMatchObject({ ok: true, text: "A", truncated: true });
  });

  it.each([
    ["a failure", [failed("overflow")], "overflow"],
    ["a refusal", [text("no"), finished("refusal")], "refused"],
    ["an early end", [text("no")], "interrupted"],
  ] as const)("fails on %s", async (_, batch, kind) => {
    expect(await ask(batch)).toMatchObject({ ok: false, failure: { kind } });
  });

  it("fails when the adapter throws or it is aborted already", async () => {
    const thrown = await ask(() => Promise.reject(new Error("boom")));
    expect(thrown).toMatchObject({ ok: false, failure: { kind: "server" } });
    const abort = new AbortController();
    abort.abort();
    const aborted = await complete({ provider: scripted([[finished("stop")]]), request, limits, signal: abort.signal });
    expect(aborted).toMatchObject({ ok: false, failure: { kind: "aborted" } });
  });
});
