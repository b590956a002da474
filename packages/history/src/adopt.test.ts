import type { CanonicalMessage, HistoryId } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { adopt, resultsFor } from "./adopt.ts";
import { dropState, extendChain, pathTo } from "./chain.ts";
import { compact } from "./compaction.ts";
import { outlineOf, Published, published } from "./published.ts";
import { call, Conversation, parts, record, result, runOf, said, userMessage } from "./samples.ts";
import { appendResults, appendStep } from "./step.ts";
import { openCalls } from "./view.ts";
import { writeState } from "./wire/state.ts";

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
