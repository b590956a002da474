import type { Blob, BlobId, CanonicalMessage, CheckpointId, HistoryId, UserMessage } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { adopt, resultsFor } from "./adopt.ts";
import { appendNode, dropState, extendChain, pathTo } from "./chain.ts";
import { compact } from "./compaction.ts";
import { relate } from "./relate.ts";
import { saysSame } from "./same.ts";
import { call, Conversation, parts, record, result, runOf, said, section, userMessage } from "./samples.ts";
import { appendResults, appendStep } from "./step.ts";
import { openCalls } from "./view.ts";
import { decodeCheckpoint } from "./wire/decode.ts";
import { encodeCheckpoint } from "./wire/encode.ts";
import { EMPTY_OUTLINE, type Outline, readState, writeState } from "./wire/state.ts";

/** A conversation whose turns are published, as one server and its client see them. */
class Published {
  readonly chat = new Conversation();
  readonly blobs = new Map<BlobId, Uint8Array>();
  readonly states: Uint8Array[] = [];
  readonly heads: CheckpointId[] = [];
  #runs = 0;

  turn(
    text: string,
    rest: { readonly id?: string; readonly delivered?: boolean; readonly answer?: string } = {},
  ): UserMessage {
    const run = runOf(`r${(this.#runs += 1)}`);
    const message = userMessage(text, rest.id ?? `m-${text}`);
    const context = [section("git", `status ${this.#runs}`)];
    this.chat.open({ runId: run, input: { message, parts: parts(text) }, context, again: true });
    this.chat.commit(appendStep(this.chat.place(run), record(run, 1, [said(rest.answer ?? `re: ${text}`)])));
    this.publish(rest.delivered ?? true);
    return message;
  }

  publish(delivered: boolean): void {
    const made = encodeCheckpoint({
      system: "sys",
      view: this.chat.view,
      blob: (id) => this.blobs.get(id),
      mode: "agent",
      ...(this.states.length === 0 ? {} : { previous: this.states.at(-1)! }),
    });
    if (!made.ok) throw new Error(made.kind);
    this.keep(made.blobs);
    this.chat.deliver(made.state, delivered);
    this.states.push(made.state);
    this.heads.push(this.chat.view.head!);
  }

  keep(blobs: readonly Blob[]): void {
    for (const blob of blobs) this.blobs.set(blob.id, blob.data);
  }

  relate(state: Uint8Array, message?: UserMessage, unseen?: ReadonlySet<CheckpointId>) {
    return relate(outlineOf(state), this.chat.chain, this.chat.view.head, { message, unseen });
  }

  decode(state: Uint8Array) {
    const read = decodeCheckpoint(state, (id) => this.blobs.get(id));
    if (!read.ok) throw new Error(read.kind);
    return read.value;
  }

  /** Rows of the head's chain, root first. */
  all(): readonly CanonicalMessage[] {
    const { chain, view, rows } = this.chat;
    return pathTo(chain, view.head).flatMap((node) => node.added.map((id) => rows.get(id)!));
  }

  adopt(state: Uint8Array, message?: UserMessage) {
    const head = this.chat.view.head!;
    return adopt(this.decode(state).messages, this.chat.chain, head, [{ head, messages: this.chat.view.messages }], {
      message,
    });
  }
}

const shownSystem = (text: string): CanonicalMessage => ({
  id: `imported:0:${text}` as HistoryId,
  role: "system",
  origin: "prompt",
  content: { kind: "parts", parts: parts(text) },
});
const shownUser = (text: string): CanonicalMessage => ({ ...shownSystem(text), role: "user", origin: "user" });
const shownAnswer = (text: string): CanonicalMessage => ({
  ...shownSystem(text),
  role: "assistant",
  origin: "assistant",
  content: { kind: "assistant", record: record(runOf("x"), 0, [said(text)]) },
});

function outlineOf(state: Uint8Array): Outline {
  const read = readState(state);
  if (!read.ok) throw new Error("malformed");
  return read.outline;
}

function published(...texts: readonly string[]): Published {
  const made = new Published();
  for (const text of texts) made.turn(text);
  return made;
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
    const outline = outlineOf(made.states[0]!);
    const rootPromptMessagesJson = outline.state.rootPromptMessagesJson.with(0, new Uint8Array(32));
    expect(made.relate(writeState({ ...outline.state, rootPromptMessagesJson }))).toMatchObject({ kind: "continue" });
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

describe("adopt", () => {
  test("a part of a node becomes a node of its own, with our rows", () => {
    const made = published("one", "two");
    const outline = outlineOf(made.states[1]!);
    // up to the context event of the second turn, which is within its opening node
    const state = writeState({
      ...outline.state,
      rootPromptMessagesJson: outline.state.rootPromptMessagesJson.slice(0, 5),
    });
    const adoption = made.adopt(state);
    expect(adoption.kind).toBe("rewind");
    expect(adoption.messages).toEqual([]);
    expect(adoption.nodes.map((node) => [node.parent, node.length])).toEqual([[made.heads[0], 4]]);
  });

  test("nothing in common is a branch of its own, one node per turn, its inputs anchored", () => {
    const other = published("other", "more");
    const made = published("one");
    for (const [id, data] of other.blobs) made.blobs.set(id, data);
    const adoption = made.adopt(other.states[1]!);
    expect(adoption).toMatchObject({ kind: "import", common: 0 });
    expect(adoption.nodes.map((node) => node.added.length)).toEqual([3, 3]);
    expect(adoption.anchors.map((anchor) => [anchor.inputId, anchor.base])).toEqual([
      ["m-other", undefined],
      ["m-more", adoption.nodes[0]!.id],
    ]);
  });

  test("results that the client brings for open calls are told apart from its messages", () => {
    const made = new Published();
    const run = runOf("r");
    made.chat.open({ runId: run, input: { message: userMessage("go", "m"), parts: parts("go") } });
    const calls = [call(run, 1, 0, "Read", "{}"), call(run, 1, 1, "Read", "{}")];
    made.chat.commit(appendStep(made.chat.place(run), record(run, 1, [said("x")], calls)));
    const there = new Conversation();
    there.chain = extendChain(there.chain, [...made.chat.chain.nodes.values()]);
    there.view = made.chat.view;
    for (const row of made.chat.rows.values()) there.rows.set(row.id, row);
    there.commit(appendResults(there.place(run), [result(calls[1]!, "B")]));
    const head = made.chat.view.head!;
    const branch = { head, messages: made.chat.view.messages };
    const adoption = adopt(there.view.messages, made.chat.chain, head, [branch]);
    expect(adoption).toMatchObject({ kind: "continue", base: head, nodes: [], messages: [] });
    expect(adoption.settle).toEqual([result(calls[1]!, "B")]);
    expect(resultsFor(openCalls(branch.messages), there.view.messages.slice(-1))).toHaveLength(1);
  });

  test("the branch with the most in common is taken, whether it is the head's or not", () => {
    const made = published("one", "two");
    const older = { head: made.heads[1]!, messages: made.chat.view.messages };
    made.chat.moveTo(made.heads[0]);
    made.states.push(made.states[0]!);
    made.turn("other two");
    const head = made.chat.view.head!;
    const adoption = adopt(older.messages, made.chat.chain, head, [{ head, messages: made.chat.view.messages }, older]);
    expect(adoption).toMatchObject({ kind: "rewind", base: made.heads[1] });
  });

  test("after two compactions that read the same, with all states forgotten, the client stands at the later one", () => {
    const made = published("one");
    for (const name of ["c1", "c2"]) {
      const { chat } = made;
      chat.compacted(compact({ ...chat.place(runOf(name)), summary: "the same", window: 10_000, opening: [] }));
    }
    const { head, messages } = made.chat.view;
    const all = pathTo(made.chat.chain, head).flatMap(({ added }) => added.map((id) => made.chat.rows.get(id)!));
    const shown = messages.map((row, at) => ({ ...row, id: `imported:${at}:${row.id}` as HistoryId }));
    expect(adopt(shown, made.chat.chain, head, [{ head: head!, messages: all }])).toMatchObject({
      kind: "continue",
      base: head,
    });
  });

  test("after a compaction, with all states forgotten: stale, gone back, and a new system text", () => {
    const made = published("one", "two");
    made.chat.compacted(compact({ ...made.chat.place(runOf("c")), summary: "short", window: 10, opening: [] }));
    made.publish(true);
    made.turn("three");
    const [state, base] = [made.states.at(-1)!, made.chat.view.head!];
    made.turn("four", { delivered: false });
    const head = made.chat.view.head!;
    for (const id of made.chat.chain.nodes.keys()) dropState(made.chat.chain, id);
    const branches = [{ head, messages: made.all() }];
    const { messages } = made.decode(state);
    expect(made.relate(state)).toEqual({ kind: "foreign" });
    expect(adopt(messages, made.chat.chain, head, branches)).toMatchObject({ kind: "stale", base: head });
    const before = made.decode(made.states[1]!).messages;
    expect(adopt(before, made.chat.chain, head, branches)).toMatchObject({
      kind: "rewind",
      base: made.heads[1],
      nodes: [],
    });
    made.turn("five");
    const now = { head: made.chat.view.head!, messages: made.all() };
    expect(adopt(messages, made.chat.chain, now.head, [now])).toMatchObject({ kind: "rewind", base, nodes: [] });

    const shown = ["one", "two", "three", "four", "five"].flatMap((text) => [
      shownUser(text),
      shownAnswer(`re: ${text}`),
    ]);
    const renewed = adopt([shownSystem("new"), ...shown], made.chat.chain, now.head, [now]);
    expect(renewed).toMatchObject({ kind: "branch", common: 10, messages: [shownSystem("new")] });
    const added = renewed.nodes.flatMap((node) => node.added);
    expect(added.slice(1)).toEqual(made.chat.view.messages.map((row) => row.id));
  });

  test("a client that says nothing yet: new turns that were not delivered stay", () => {
    const made = new Published();
    made.turn("one", { delivered: false });
    const { chain, view } = made.chat;
    const branch = [{ head: view.head!, messages: view.messages }];
    expect(adopt([], chain, view.head, branch)).toMatchObject({ kind: "stale", base: view.head });
    made.publish(true);
    expect(adopt([], made.chat.chain, view.head, branch)).toMatchObject({ kind: "rewind", base: undefined });
    expect(adopt([], chain, undefined, [])).toMatchObject({ kind: "import", base: undefined });
  });
});

describe("saying the same", () => {
  const one = call(runOf("r"), 1, 0, "Read", '{"a":1,"b":[2]}');
  const step = (text: string, calls = [one]) => ({
    ...new Conversation().view.messages[0]!,
    role: "assistant" as const,
    content: { kind: "assistant" as const, record: record(runOf("r"), 1, [said(text)], calls) },
  });
  test.each([
    ["the same call spelled otherwise", step("x", [{ ...one, arguments: '{ "b": [2], "a": 1 }' }]), true],
    ["another argument", step("x", [{ ...one, arguments: '{"a":2,"b":[2]}' }]), false],
    ["another tool", step("x", [{ ...one, name: "Write" }]), false],
    ["broken arguments", step("x", [{ ...one, arguments: "{" }]), false],
    ["another text", step("y"), false],
    ["blanks around the text", step(" x\n"), true],
    ["one call less", step("x", []), false],
  ])("%s", (_name, other, same) => {
    expect(saysSame(other, step("x"))).toBe(same);
  });
});

test("a node has the same id wherever it is made, and another for every other place or content", () => {
  const { chain } = new Conversation();
  const node = appendNode(chain, undefined, ["a" as never]);
  expect(appendNode(chain, undefined, ["a" as never], { runId: runOf("x") }).id).toBe(node.id);
  const others = [
    appendNode(chain, undefined, ["b" as never]),
    appendNode(chain, undefined, ["a" as never, "b" as never]),
    appendNode(chain, node.id, ["a" as never]),
    appendNode(chain, undefined, ["a" as never], { compaction: { summaryId: "s" as never } }),
  ];
  expect(new Set([node.id, ...others.map((other) => other.id)]).size).toBe(5);
});
