import { describe, expect, test } from "vitest";
import { compact, keptFrom, shouldCompact, type TriggerInput } from "./compaction.ts";
import { project } from "./project.ts";
import { call, Conversation, parts, record, result, runOf, said, section, userMessage } from "./samples.ts";
import { appendResults, appendStep } from "./step.ts";
import { messageTokens, messagesTokens, textTokens } from "./tokens.ts";
import { transcript } from "./transcript.ts";
import { isContext, isUnfinished } from "./view.ts";

const WINDOW = 10_000;
const words = (tokens: number) => "word ".repeat(tokens);

let runs = 0;
/** A turn with one call whose result is about so many tokens. */
function turn(
  chat: Conversation,
  resultTokens: number,
  context = [section("git", "clean"), section("mcp", "tracker")],
) {
  const run = runOf(`r${(runs += 1)}`);
  const message = userMessage("go on", `m${runs}`);
  chat.open({ runId: run, input: { message, parts: parts("go on") }, context, runtime: `turn ${runs}` });
  const one = call(run, 1, 0, "Read", "{}");
  chat.commit(appendStep(chat.place(run), record(run, 1, [said("I look.")], [one])));
  chat.commit(appendResults(chat.place(run), [result(one, words(resultTokens))]));
  chat.commit(appendStep(chat.place(run), record(run, 2, [said("Done.")])));
  return run;
}

function ask(chat: Conversation, rest: Partial<TriggerInput> = {}) {
  return shouldCompact({ view: chat.view, window: WINDOW, fixedTokens: 500, ...rest });
}

describe("when", () => {
  test("at nine tenths of the window, by the last call's usage and an estimate of what is new", () => {
    const chat = new Conversation();
    turn(chat, 1_000);
    expect(ask(chat).kind).toBe("fits");
    const { length } = chat.view.messages;
    expect(ask(chat, { measured: { tokens: 8_900, messages: length } })).toEqual({ kind: "fits", tokens: 8_900 });
    expect(ask(chat, { measured: { tokens: 9_000, messages: length } })).toEqual({ kind: "compact", tokens: 9_000 });
    expect(ask(chat, { measured: { tokens: 8_900, messages: length - 2 } }).kind).toBe("compact");
  });

  test("CO-04 an estimate below the window, a limit learned from an overflow below that", () => {
    const chat = new Conversation();
    turn(chat, 8_000);
    const estimated = ask(chat).tokens;
    expect(estimated).toBeLessThan(WINDOW);
    expect(ask(chat, { window: Math.floor(estimated * 0.95) }).kind).toBe("compact");
  });

  test("CO-07 one message larger than the window is said before dispatch", () => {
    const chat = new Conversation();
    const run = runOf("big");
    const opening = chat.open({
      runId: run,
      input: { message: userMessage(words(12_000), "m"), parts: parts(words(12_000)) },
    });
    const id = opening.kind === "opened" ? opening.messages.at(-1)!.id : undefined;
    expect(ask(chat)).toMatchObject({ kind: "tooLarge", message: id });
  });

  test("CO-08 a smaller window after a change of model: before dispatch, whatever the other model counted", () => {
    const chat = new Conversation();
    for (let count = 0; count < 8; count += 1) turn(chat, 1_000);
    expect(ask(chat, { window: 100_000 }).kind).toBe("fits");
    expect(ask(chat, { window: WINDOW }).kind).toBe("compact");
  });

  test("CO-01, CO-03 not again where it wins nothing, nor right after it failed", () => {
    const chat = new Conversation();
    for (let count = 0; count < 5; count += 1) turn(chat, 2_000);
    const failedAt = chat.view.messages.length;
    expect(ask(chat).kind).toBe("compact");
    expect(ask(chat, { failedAt }).kind).toBe("rest");
    for (let count = 0; count < 3; count += 1) turn(chat, 10);
    expect(ask(chat, { failedAt }).kind).toBe("compact");

    const run = runOf("compacting");
    chat.compacted(compact({ ...chat.place(run), summary: "short", window: WINDOW, opening: [] }));
    expect(ask(chat).kind).toBe("fits");
    expect(ask(chat, { fixedTokens: 9_500 }).kind).toBe("rest");
  });
});

describe("what", () => {
  test("CO-02, CO-12 the new prefix: one request context with the newest of each section, summary, kept tail", () => {
    const chat = new Conversation();
    for (let count = 0; count < 5; count += 1) turn(chat, 1_500);
    turn(chat, 100, [section("git", "M a.ts"), section("mcp", "tracker"), section("skills", "deploy")]);
    turn(chat, 100, [section("git", "M a.ts"), section("mcp", "tracker")]);
    const run = runOf("c2");
    const made = compact({ ...chat.place(run), summary: "<summary>\nshort\n</summary>", window: WINDOW, opening: [] });
    const before = chat.view;
    chat.compacted(made);
    const { messages } = chat.view;
    expect(messages.filter(isContext)).toHaveLength(1);
    expect(JSON.stringify(messages[0])).toContain("M a.ts");
    expect(JSON.stringify(messages[0])).toContain("tracker");
    expect(JSON.stringify(messages[0])).not.toContain("deploy");
    expect(JSON.stringify(messages[0])).not.toContain("(none)");
    expect(messages[1]!.id).toBe("summary:c2");
    const tail = messages.slice(2);
    expect(tail).toEqual(
      before.messages
        .slice(-tail.length - 3)
        .filter((message) => !isContext(message))
        .slice(-tail.length),
    );
    expect(tail[0]!.role).not.toBe("tool");
    expect(messagesTokens(tail)).toBeLessThanOrEqual(WINDOW * 0.2);
    // CO-12 the prefix rule holds from here
    const request = JSON.stringify(
      project(messages, { vendor: "v", supportsImages: true, image: () => undefined }).messages,
    );
    turn(chat, 10, [section("git", "M a.ts"), section("mcp", "tracker")]);
    const next = JSON.stringify(
      project(chat.view.messages, { vendor: "v", supportsImages: true, image: () => undefined }).messages,
    );
    expect(next.startsWith(request.slice(0, -1))).toBe(true);
    expect(chat.view.messages.filter(isContext)).toHaveLength(1);
    // CO-10 every row is still there
    expect(chat.view.length).toBe(before.length + 2 + 5);
  });

  test("in the middle of a turn its opening stays word for word, before the kept steps", () => {
    const chat = new Conversation();
    const run = runOf("mid");
    const message = userMessage("do all of it", "mid");
    const opening = chat.open({
      runId: run,
      input: { message, parts: parts("do all of it") },
      context: [section("git", "x")],
      runtime: "now",
    });
    const ids = opening.kind === "opened" ? opening.messages.map((row) => row.id) : [];
    for (let step = 1; step <= 4; step += 1) {
      const one = call(run, step, 0, "Read", "{}");
      chat.commit(appendStep(chat.place(run), record(run, step, [said("next")], [one])));
      chat.commit(appendResults(chat.place(run), [result(one, words(1_500))]));
    }
    const made = compact({ ...chat.place(run), summary: "short", window: WINDOW, opening: ids });
    expect(made.messages.map((row) => row.id.split(":")[0])).toEqual(["request-context", "summary"]);
    chat.compacted(made);
    expect(chat.view.messages.map((row) => row.id.split(":")[0])).toEqual([
      "request-context",
      "summary",
      "runtime",
      "user-message",
      "assistant",
      "tool",
    ]);
    expect(isUnfinished(chat.view.messages)).toBe(true);
    // a second compaction of the same Run has ids of its own
    const again = compact({ ...chat.place(run), summary: "shorter", window: 100, opening: ids });
    expect(again.messages.map((row) => row.id)).toEqual(["request-context:compaction:mid:1", "summary:mid:2"]);
    chat.compacted(again);
    expect(chat.view.messages.map((row) => row.id.split(":")[0])).toEqual([
      "request-context",
      "summary",
      "runtime",
      "user-message",
    ]);
  });

  test("CO-06, CO-13 the old head stays: what was not committed did not happen", () => {
    const chat = new Conversation();
    turn(chat, 100);
    const before = chat.view;
    compact({ ...chat.place(runOf("c3")), summary: "lost", window: WINDOW, opening: [] });
    expect(chat.view).toBe(before);
    chat.compacted(compact({ ...chat.place(runOf("c4")), summary: "kept", window: WINDOW, opening: [] }));
    const { head } = chat.view;
    chat.moveTo(head);
    expect(chat.view.summary).toBe("summary:c4");
    expect(isUnfinished(chat.view.messages)).toBe(false);
  });

  test("nothing is kept where not even the last step fits; a summary is never kept as tail", () => {
    const chat = new Conversation();
    turn(chat, 5_000);
    expect(keptFrom(chat.view, 10)).toBeUndefined();
    expect(keptFrom(chat.view, 1_000_000)).toBe(chat.view.messages.find((row) => !isContext(row))?.id);
    chat.compacted(compact({ ...chat.place(runOf("c5")), summary: "s", window: 10, opening: [] }));
    expect(chat.view.messages.map((row) => row.id.split(":")[0])).toEqual(["request-context", "summary"]);
    expect(keptFrom(chat.view, 1_000_000)).toBeUndefined();
  });
});

describe("the transcript", () => {
  test("holds who said what, and neither context nor reasoning", () => {
    const chat = new Conversation();
    turn(chat, 3);
    const text = transcript(chat.view.messages, 10_000);
    expect(text).toContain("[user]\ngo on");
    expect(text).toContain("-> Read {}");
    expect(text).toContain("[result of Read]\nword word word");
    expect(text).not.toContain("<git>");
  });

  test.each([200, 1_000, 5_000])("fits %d tokens: long results first, then the oldest entries", (limit) => {
    const chat = new Conversation();
    for (let count = 0; count < 10; count += 1) turn(chat, 2_000);
    const text = transcript(chat.view.messages, limit);
    expect(textTokens(text)).toBeLessThanOrEqual(limit);
    expect(text).toContain("Done.");
    expect(text.isWellFormed()).toBe(true);
  });
});

test("an estimate of a cut result does not count what is cut", () => {
  const chat = new Conversation();
  turn(chat, 1_000_000);
  const row = chat.view.messages.find((message) => message.role === "tool")!;
  expect(messageTokens(row)).toBeLessThan(30_000);
});
