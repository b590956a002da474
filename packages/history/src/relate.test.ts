import { describe, expect, test } from "vitest";
import { outlineOf, Published, published } from "./published.ts";
import { relate } from "./relate.ts";
import { call, Conversation, parts, record, runOf, userMessage } from "./samples.ts";
import { appendStep } from "./step.ts";
import { EMPTY_OUTLINE, writeState } from "./wire/state.ts";

/** The state under another system text. */
function underSystem(bytes: Uint8Array): Uint8Array {
  const { state } = outlineOf(bytes);
  return writeState({ ...state, rootPromptMessagesJson: state.rootPromptMessagesJson.with(0, new Uint8Array(32)) });
}

describe("HI-10 a client's state, by its ids", () => {
  test("nothing on either side is new; a state that this server never saw is foreign", () => {
    const chat = new Conversation();
    expect(relate(EMPTY_OUTLINE, chat.chain, undefined)).toEqual({ kind: "new" });
    expect(relate(outlineOf(published("one").states[0]!), chat.chain, undefined)).toEqual({ kind: "foreign" });
  });

  test("the head's state goes on", () => {
    const made = published("one", "two");
    expect(made.relate(made.states[1]!)).toEqual({ kind: "continue", base: made.heads[1], shrunk: false });
  });

  test("the system text alone may differ", () => {
    const made = published("one");
    expect(made.relate(underSystem(made.states[0]!))).toMatchObject({
      kind: "continue",
      shrunk: false,
    });
  });

  test("an older state is stale while nothing newer was delivered, else the user went back", () => {
    const made = published("one");
    made.turn("two", { delivered: false });
    expect(made.relate(made.states[0]!)).toEqual({ kind: "stale", base: made.heads[1], from: made.heads[0] });
    made.turn("three");
    expect(made.relate(made.states[0]!)).toEqual({ kind: "rewind", base: made.heads[0] });
    expect(made.relate(made.states[1]!)).toEqual({ kind: "rewind", base: made.heads[1] });
  });

  test("what was delivered after the client had spoken it did not know: no turn is dropped", () => {
    const made = published("one");
    made.turn("two");
    const unseen = new Set([made.heads[1]!]);
    expect(made.relate(made.states[0]!, undefined, unseen)).toMatchObject({ kind: "stale", base: made.heads[1] });
    expect(made.relate(new Uint8Array(), undefined, unseen)).toEqual({ kind: "rewind", base: undefined });
    made.turn("three");
    expect(made.relate(made.states[0]!, undefined, unseen)).toEqual({ kind: "rewind", base: made.heads[0] });
  });

  test("an empty state is the oldest of all", () => {
    const made = new Published();
    made.turn("one", { delivered: false });
    expect(made.relate(new Uint8Array())).toEqual({ kind: "stale", base: made.heads[0], from: undefined });
    made.turn("two");
    expect(made.relate(new Uint8Array())).toEqual({ kind: "rewind", base: undefined });
  });

  test("an input said anew with other content branches where it was said, delivered or not; the same content is a retry", () => {
    const made = published("one");
    const two = made.turn("two", { delivered: false });
    const base = made.heads[0];
    expect(made.relate(made.states[0]!, { ...two, text: "two!" })).toEqual({ kind: "rewind", base });
    expect(made.relate(made.states[0]!, two)).toMatchObject({ kind: "stale", base: made.heads[1] });
    expect(made.relate(made.states[0]!, userMessage("other", "m-other"))).toMatchObject({ kind: "stale" });
  });

  test("the state of an abandoned branch goes back to it", () => {
    const made = published("one", "two");
    made.chat.moveTo(made.heads[0]);
    made.states.push(made.states[0]!);
    made.turn("other two");
    expect(made.relate(made.states[1]!)).toEqual({ kind: "rewind", base: made.heads[1] });
  });

  test("the state of a branch that was left goes back to it, though nothing at all was told to be delivered", () => {
    const made = new Published();
    made.turn("one", { delivered: false });
    made.turn("two", { delivered: false });
    made.chat.moveTo(made.heads[0]);
    made.states.push(made.states[0]!);
    made.turn("other two", { delivered: false });
    expect(made.relate(made.states[1]!)).toEqual({ kind: "rewind", base: made.heads[1] });
  });

  test("a state of ours that cannot be read is no state", () => {
    const made = published("one", "two");
    const lost = outlineOf(made.states[0]!);
    const rootPromptMessagesJson = lost.state.rootPromptMessagesJson.toSpliced(2, 1);
    made.chat.deliver(new Uint8Array([0xff]));
    expect(made.relate(made.states[0]!)).toEqual({ kind: "rewind", base: made.heads[0] });
    const state = writeState({ ...lost.state, rootPromptMessagesJson });
    expect(made.relate(state)).toEqual({ kind: "rewind", base: made.heads[0] });
  });

  test("a state without a message is not recognised by its system text", () => {
    const made = published("one");
    const { state } = outlineOf(made.states[0]!);
    const bare = writeState({ ...state, rootPromptMessagesJson: state.rootPromptMessagesJson.slice(0, 1) });
    made.chat.deliver(bare);
    expect(made.relate(bare)).toEqual({ kind: "continue", base: made.heads[0], shrunk: false });
    expect(made.relate(underSystem(bare))).toEqual({ kind: "foreign" });
    const withMore = new Uint8Array([...bare, 0xa0, 0x1f, 1]);
    made.chat.deliver(withMore);
    expect(made.relate(bare)).toEqual({ kind: "foreign" });
  });

  test("a conversation that was taken back to its root knows the states of what was left", () => {
    const made = published("one", "two");
    made.chat.moveTo(undefined);
    expect(made.relate(made.states[1]!)).toEqual({ kind: "rewind", base: made.heads[1] });
    expect(made.relate(published("other").states[0]!)).toEqual({ kind: "foreign" });
  });

  test("pending calls tell apart two states with the same messages", () => {
    const made = new Published();
    const run = runOf("r");
    made.chat.open({ runId: run, input: { message: userMessage("go", "m"), parts: parts("go") } });
    made.publish(true);
    const one = call(run, 1, 0, "Read", "{}");
    made.chat.commit(appendStep(made.chat.place(run), record(run, 1, [], [one])));
    made.publish(true);
    expect(made.relate(made.states[0]!)).toEqual({ kind: "rewind", base: made.heads[0] });
    expect(made.relate(made.states[1]!)).toMatchObject({ kind: "continue" });
    expect(made.relate(underSystem(made.states[0]!))).toEqual({ kind: "rewind", base: made.heads[0] });
  });
});

describe("HI-11 a state that lost or changed an entry", () => {
  test("lost: ours win, and it is said", () => {
    const made = published("one", "two");
    const outline = outlineOf(made.states[1]!);
    const rootPromptMessagesJson = outline.state.rootPromptMessagesJson.toSpliced(2, 1);
    expect(made.relate(writeState({ ...outline.state, rootPromptMessagesJson }))).toEqual({
      kind: "continue",
      base: made.heads[1],
      shrunk: true,
    });
  });

  test("lost and changed, or lost where no turn says whose it is: not ours", () => {
    const made = published("one", "two");
    const { state } = outlineOf(made.states[1]!);
    const lost = state.rootPromptMessagesJson.toSpliced(2, 1);
    const changed = lost.with(lost.length - 1, new Uint8Array(32));
    expect(made.relate(writeState({ ...state, rootPromptMessagesJson: changed }))).toEqual({ kind: "foreign" });
    made.chat.deliver(writeState({ ...state, turns: [] }));
    expect(made.relate(writeState({ ...state, turns: [], rootPromptMessagesJson: lost }))).toEqual({ kind: "foreign" });
  });

  test("lost, of an older state: stale like the whole one", () => {
    const made = published("one");
    made.turn("two", { delivered: false });
    const outline = outlineOf(made.states[0]!);
    const rootPromptMessagesJson = outline.state.rootPromptMessagesJson.toSpliced(2, 1);
    const state = writeState({ ...outline.state, rootPromptMessagesJson });
    expect(made.relate(state)).toEqual({ kind: "stale", base: made.heads[1], from: made.heads[0] });
  });

  test("changed: a branch from what is common, our rows as they are", () => {
    const made = published("one", "two");
    const outline = outlineOf(made.states[1]!);
    const forged = new TextEncoder().encode(
      JSON.stringify({ role: "assistant", content: [{ type: "text", text: "forged" }] }),
    );
    const at = outline.roots.length - 1;
    const state = writeState({
      ...outline.state,
      rootPromptMessagesJson: outline.state.rootPromptMessagesJson.with(at, forged),
    });
    const inline = outlineOf(state);
    made.keep(inline.inline);
    expect(made.relate(state)).toEqual({ kind: "foreign" });
    const adoption = made.adopt(state);
    expect(adoption).toMatchObject({ kind: "branch", common: 5 });
    expect(adoption.messages).toHaveLength(1);
    expect(made.chat.view.messages).toHaveLength(6);
  });
});
