import { describe, expect, it } from "vitest";
import {
  args,
  call,
  failed,
  finished,
  handClock,
  input,
  recordingSink,
  scripted,
  text,
  thinking,
} from "../test/scripted.ts";
import { streamStep } from "./step.ts";

describe("streamStep", () => {
  it("forwards in order, joins adjacent deltas of one read, and flushes once per read", async () => {
    const sink = recordingSink();
    const provider = scripted([
      [text("Hel"), text("lo"), text("")],
      [text(" world"), { type: "usage", usage: { outputTokens: 3 } }, finished("stop")],
    ]);
    const outcome = await streamStep(input(provider, { sink }));
    expect(sink.lines).toEqual(["text Hello", "flush", "text  world", "tokens 3", "flush"]);
    expect(outcome).toEqual({
      kind: "completed",
      finish: "stop",
      record: {
        blocks: [{ type: "text", text: "Hello world" }],
        calls: [],
        modelCallId: "mc",
        step: 1,
        partial: false,
      },
      usage: { outputTokens: 3 },
    });
  });

  it("keeps thinking and text as blocks in their order, with the time that thinking took", async () => {
    const clock = handClock();
    const sink = recordingSink();
    const later =
      (ms: number, ...events: Parameters<typeof scripted>[0][number] & readonly unknown[]) =>
      () => {
        clock.ms = ms;
        return events as never;
      };
    const provider = scripted([
      later(100, thinking("let me")),
      later(400, thinking(" see"), { type: "thinkingDone", replay: { vendor: "v", data: '{"s":1}' } }, text("A")),
      later(500, thinking("more")),
      later(900, text("B"), { type: "thinkingDone", replay: { vendor: "v", data: '{"r":1}' } }, finished("stop")),
    ]);
    const outcome = await streamStep(input(provider, { sink, clock }));
    expect(sink.lines.filter((line) => line !== "flush")).toEqual([
      "thinking let me",
      "thinking  see",
      "thought 300",
      "text A",
      "thinking more",
      "thought 400",
      "text B",
    ]);
    expect(outcome.kind === "completed" && outcome.record.blocks).toEqual([
      { type: "thinking", text: "let me see", replay: { vendor: "v", data: '{"s":1}' } },
      { type: "text", text: "A" },
      { type: "thinking", text: "more" },
      { type: "text", text: "B" },
      { type: "thinking", text: "", replay: { vendor: "v", data: '{"r":1}' } },
    ]);
  });

  it("gives every call an internal id, keeps the exact argument text and sorts by index", async () => {
    const sink = recordingSink();
    const provider = scripted([
      [call(1, "b", "Grep"), args(1, '{"pattern" :')],
      [args(1, " 1.0}"), call(0, "a", "Read"), args(0, ""), args(0, '{"path":"x"}')],
      [finished("toolCalls")],
    ]);
    const outcome = await streamStep(input(provider, { sink }));
    expect(sink.lines).toEqual([
      "call t1 Grep mc",
      'arguments t1 {"pattern" : (+{"pattern" :)',
      "flush",
      'arguments t1 {"pattern" : 1.0} (+ 1.0})',
      "call t2 Read mc",
      'arguments t2 {"path":"x"} (+{"path":"x"})',
      "flush",
      "flush",
    ]);
    expect(outcome.kind === "toolCalls" && outcome.record.calls).toEqual([
      { id: "t2", providerId: "a", index: 0, name: "Read", arguments: '{"path":"x"}' },
      { id: "t1", providerId: "b", index: 1, name: "Grep", arguments: '{"pattern" : 1.0}' },
    ]);
  });

  it("TL-02: two calls with one provider id in one message are told apart", async () => {
    const provider = scripted([
      [call(0, "call_0", "Read"), call(1, "call_0", "Read"), call(2, "call_0_2", "Read"), call(3, "", "Read")],
      [finished("toolCalls")],
    ]);
    const outcome = await streamStep(input(provider));
    const ids = outcome.kind === "toolCalls" ? outcome.record.calls.map(({ providerId }) => providerId) : [];
    expect(ids).toEqual(["call_0", "call_0_2", "call_0_2_2", "call_3"]);
  });

  it("TL-04: repairs what has one reading and marks what has none", async () => {
    const provider = scripted([
      [call(0, "a", "Read"), args(0, '{"a":1}{"a":1}'), call(1, "b", "Read"), args(1, '{"a":')],
      [finished("toolCalls")],
    ]);
    const outcome = await streamStep(input(provider));
    expect(outcome.kind === "toolCalls" && outcome.record.calls).toMatchObject([
      { arguments: '{"a":1}' },
      { arguments: '{"a":', argumentError: expect.stringContaining("not valid JSON") },
    ]);
  });

  it("runs calls also when the vendor ends the pass as stop", async () => {
    const outcome = await streamStep(input(scripted([[call(0, "a", "Read"), finished("stop")]])));
    expect(outcome).toMatchObject({ kind: "toolCalls", record: { calls: [{ arguments: "{}" }] } });
  });

  it("PR-02: length inside a call runs no call", async () => {
    const provider = scripted([[text("I read"), call(0, "a", "Read"), args(0, '{"path":')], [finished("length")]]);
    const outcome = await streamStep(input(provider));
    expect(outcome).toMatchObject({
      kind: "outputLimit",
      shown: true,
      abandoned: [{ id: "t1", name: "Read", modelCallId: "mc" }],
      partial: { blocks: [{ type: "text", text: "I read" }], calls: [], partial: true },
    });
  });

  it("length after plain text is an answer that was cut; length before any text is none", async () => {
    const cut = await streamStep(input(scripted([[text("long"), finished("length")]])));
    expect(cut).toMatchObject({ kind: "completed", finish: "length", record: { partial: false } });
    const nothing = await streamStep(input(scripted([[thinking("all of it"), finished("length")]])));
    expect(nothing).toMatchObject({ kind: "outputLimit", shown: true });
  });

  it("PR-23: a stream without a terminal event is interrupted and runs no call", async () => {
    const outcome = await streamStep(input(scripted([[call(0, "a", "Shell"), args(0, '{"command":"ls"}')]])));
    expect(outcome).toMatchObject({
      kind: "failed",
      shown: true,
      failure: { kind: "interrupted", retryable: true },
      abandoned: [{ id: "t1" }],
      partial: { calls: [], partial: true },
    });
  });

  it("PR-09: a refusal fails for good, with the vendor's text", async () => {
    const outcome = await streamStep(input(scripted([[text("I can't help with that."), finished("refusal")]])));
    expect(outcome).toMatchObject({
      kind: "failed",
      failure: { kind: "refused", message: "I can't help with that.", retryable: false },
    });
    const silent = await streamStep(input(scripted([[finished("contentFilter")]])));
    expect(silent).toMatchObject({
      kind: "failed",
      shown: false,
      failure: { kind: "refused", message: "The model refused to answer (contentFilter)." },
    });
  });

  it("a failure keeps what was shown, and says whether anything was", async () => {
    const early = await streamStep(input(scripted([[failed("server"), text("never")]])));
    expect(early).toMatchObject({ kind: "failed", shown: false, partial: { blocks: [] } });
    const late = await streamStep(input(scripted([[text("so far")], [failed("server")]])));
    expect(late).toMatchObject({
      kind: "failed",
      shown: true,
      partial: { blocks: [{ text: "so far" }], partial: true },
    });
  });

  it("an abort ends the Step at once: nothing more reaches the sink, and the provider's stream is closed", async () => {
    const abort = new AbortController();
    const sink = recordingSink();
    let closed = 0;
    const batches = [
      [text("one")],
      () => {
        abort.abort();
        return [text("two"), finished("stop")];
      },
      [text("three")],
    ];
    const outcome = await streamStep(
      input(
        scripted(batches, () => closed++),
        { sink, signal: abort.signal },
      ),
    );
    expect(outcome).toMatchObject({ kind: "aborted", shown: true, partial: { blocks: [{ text: "one" }] } });
    expect(sink.lines).toEqual(["text one", "flush"]);
    expect(closed).toBe(1);
  });

  it("does not call the provider when it is aborted already, and takes its `aborted` as one", async () => {
    const abort = new AbortController();
    abort.abort();
    let asked = 0;
    const never = scripted([
      () => {
        asked++;
        return [];
      },
    ]);
    expect(await streamStep(input(never, { signal: abort.signal }))).toMatchObject({ kind: "aborted", shown: false });
    expect(asked).toBe(0);
    expect(await streamStep(input(scripted([[failed("aborted")]])))).toMatchObject({ kind: "aborted", shown: false });
  });

  it("an abort after the terminal event takes nothing back", async () => {
    const abort = new AbortController();
    const sink = { ...recordingSink(), flush: () => abort.abort() };
    const outcome = await streamStep(
      input(scripted([[text("all"), finished("stop")]]), { sink, signal: abort.signal }),
    );
    expect(outcome).toMatchObject({ kind: "completed" });
  });

  it("a promise of the sink holds the next read back, and the partial record can be taken at each flush", async () => {
    let pulled = 0;
    const partials: string[] = [];
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const sink = {
      ...recordingSink(),
      flush: (partial: () => { readonly blocks: readonly { readonly text: string }[] }) => {
        partials.push(
          partial()
            .blocks.map((block) => block.text)
            .join(),
        );
        reached.resolve();
        return held.promise;
      },
    };
    const batch = (value: string) => () => {
      pulled++;
      return [text(value)];
    };
    const done = streamStep(input(scripted([batch("a"), batch("b"), [finished("stop")]]), { sink }));
    await reached.promise;
    expect(pulled).toBe(1);
    held.resolve();
    await done;
    expect(pulled).toBe(2);
    expect(partials).toEqual(["a", "ab", "ab"]);
  });

  it("a provider that breaks its contract by throwing is a failure, a sink that throws is the caller's", async () => {
    const throwing = scripted([
      [text("x")],
      () => {
        throw new Error("secret");
      },
    ]);
    const outcome = await streamStep(input(throwing));
    expect(outcome).toMatchObject({ kind: "failed", shown: true, failure: { kind: "server", retryable: false } });
    expect(JSON.stringify(outcome)).not.toContain("secret");
    let closed = 0;
    const sink = {
      ...recordingSink(),
      text: () => {
        throw new Error("sink");
      },
    };
    await expect(
      streamStep(
        input(
          scripted([[text("x")], []], () => closed++),
          { sink },
        ),
      ),
    ).rejects.toThrow("sink");
    expect(closed).toBe(1);
  });

  it("counts output tokens as differences and merges what the provider reports piece by piece", async () => {
    const sink = recordingSink();
    const provider = scripted([
      [{ type: "usage", usage: { inputTokens: 10, outputTokens: 1 } }],
      [
        { type: "usage", usage: { outputTokens: 5 } },
        { type: "usage", usage: { outputTokens: 5 } },
      ],
      [finished("stop")],
    ]);
    const outcome = await streamStep(input(provider, { sink }));
    expect(sink.lines.filter((line) => line !== "flush")).toEqual(["tokens 1", "tokens 4"]);
    expect(outcome).toMatchObject({ usage: { inputTokens: 10, outputTokens: 5 } });
  });
});
