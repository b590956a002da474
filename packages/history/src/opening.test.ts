import type { BackgroundCompletion, InjectionId } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { openCompletion, openInjection, openResume } from "./opening.ts";
import { call, Conversation, parts, record, result, runOf, said, section, userMessage } from "./samples.ts";
import { appendResults, appendStep, interruptedResult } from "./step.ts";
import { isContext, isUnfinished, openCalls } from "./view.ts";

let runs = 0;
function say(
  chat: Conversation,
  text: string,
  id: string,
  rest: { readonly git?: string; readonly again?: boolean } = {},
) {
  const run = runOf(`r${(runs += 1)}`);
  const opening = chat.open({
    runId: run,
    input: { message: userMessage(text, id), parts: parts(text) },
    context: [section("git", rest.git ?? "clean")],
    runtime: `clock ${runs}`,
    again: rest.again === true,
  });
  return { opening, run };
}
function answer(chat: Conversation, run: ReturnType<typeof runOf>, text = "Done.") {
  chat.commit(appendStep(chat.place(run), record(run, 1, [said(text)])));
}
const spoken = (chat: Conversation) =>
  chat.view.messages.flatMap((row) =>
    row.origin === "user" && row.content.kind === "parts"
      ? row.content.parts.map((part) => (part.type === "text" ? part.text : ""))
      : [],
  );

describe("a turn", () => {
  test("HI-03 sent five times with a fresh context and clock: one event, the same bytes", () => {
    const chat = new Conversation();
    say(chat, "one", "m1");
    const before = JSON.stringify(chat.view.messages);
    for (let retry = 0; retry < 5; retry += 1) {
      chat.moveTo(undefined);
      const { opening } = say(chat, "one", "m1", { git: `retry ${retry}` });
      expect(opening).toMatchObject({ kind: "stands", head: chat.view.head });
      expect(JSON.stringify(chat.view.messages)).toBe(before);
    }
    expect(chat.chain.nodes.size).toBe(1);
    expect(chat.chain.anchors).toHaveLength(1);
  });

  test("HI-04 the clock of an old turn never moves", () => {
    const chat = new Conversation();
    const { run } = say(chat, "one", "m1");
    answer(chat, run);
    const before = JSON.stringify(chat.view.messages).slice(0, -1);
    say(chat, "two", "m2");
    expect(JSON.stringify(chat.view.messages).startsWith(before)).toBe(true);
  });

  test.each([[undefined], [""]])("where the runtime has nothing to tell (%j), nothing stands for it", (runtime) => {
    const chat = new Conversation();
    const input = { message: userMessage("one", "m1"), parts: parts("one") };
    chat.open({ runId: runOf("r"), input, ...(runtime === undefined ? {} : { runtime }) });
    expect(chat.view.messages.map(({ origin }) => origin)).toEqual(["user"]);
  });

  test("HI-13 edit message 2 of 5, then again: branches at 2, the cancelled ones not in the prompt, anchors right", () => {
    const chat = new Conversation();
    const bases = [];
    for (const text of ["one", "two", "three", "four", "five"]) {
      bases.push(chat.view.head);
      answer(chat, say(chat, text, `m-${text}`).run);
    }
    chat.moveTo(bases[1]);
    answer(chat, say(chat, "two, edited", "m-two").run);
    expect(spoken(chat)).toEqual(["one", "two, edited"]);
    chat.moveTo(bases[1]);
    answer(chat, say(chat, "two, edited twice", "m-two").run);
    expect(spoken(chat)).toEqual(["one", "two, edited twice"]);
    const anchors = chat.chain.anchors.filter((anchor) => anchor.inputId === "m-two");
    expect(anchors.map((anchor) => anchor.base)).toEqual([bases[1], bases[1], bases[1]]);
    expect(new Set(anchors.map((anchor) => anchor.event)).size).toBe(3);
    // back to the first wording: its rows stand
    chat.moveTo(bases[1]);
    expect(say(chat, "two", "m-two").opening.kind).toBe("stands");
    expect(spoken(chat)).toEqual(["one", "two"]);
  });

  test("the same input at another place is another event, with its own context", () => {
    const chat = new Conversation();
    answer(chat, say(chat, "one", "m1").run);
    const first = chat.view.head;
    answer(chat, say(chat, "two", "m2", { git: "M a.ts" }).run);
    chat.moveTo(undefined);
    const moved = say(chat, "two", "m2", { git: "M b.ts" });
    expect(moved.opening.kind).toBe("opened");
    expect(JSON.stringify(chat.view.messages)).toContain("M b.ts");
    expect(JSON.stringify(chat.view.messages)).not.toContain("M a.ts");
    chat.moveTo(first);
    expect(say(chat, "two", "m2").opening.kind).toBe("stands");
    expect(JSON.stringify(chat.view.messages)).toContain("M a.ts");
  });

  test("an answered input that is wanted once more is said once more, and a retry of that stands", () => {
    const chat = new Conversation();
    answer(chat, say(chat, "one", "m1").run);
    const head = chat.view.head;
    expect(say(chat, "one", "m1").opening).toMatchObject({ kind: "stands", head });
    expect(say(chat, "one", "m1", { again: true }).opening.kind).toBe("opened");
    expect(spoken(chat)).toEqual(["one", "one"]);
    const again = chat.view.head;
    chat.moveTo(head);
    expect(say(chat, "one", "m1", { again: true }).opening).toMatchObject({ kind: "stands", head: again });
  });

  test("queued messages are said before it, each once", () => {
    const chat = new Conversation();
    const run = runOf("q");
    const prepend = ["a", "b"].map((text) => ({ message: userMessage(text, `q-${text}`), parts: parts(text) }));
    const input = { message: userMessage("c", "q-c"), parts: parts("c") };
    chat.open({ runId: run, input, prepend: [...prepend, prepend[0]!] });
    expect(spoken(chat)).toEqual(["a", "b", "c"]);
    answer(chat, run);
    chat.open({ runId: runOf("q2"), input: { message: userMessage("d", "q-d"), parts: parts("d") }, prepend });
    expect(spoken(chat)).toEqual(["a", "b", "c", "d"]);
  });

  test("a queued message that was said on another branch is said again as another use of it", () => {
    const chat = new Conversation();
    const prepend = [{ message: userMessage("a", "q-a"), parts: parts("a") }];
    const rowOfA = () => chat.view.messages[0]?.id;
    chat.open({ runId: runOf("q"), input: { message: userMessage("b", "q-b"), parts: parts("b") }, prepend });
    const first = rowOfA();
    chat.moveTo(undefined);
    chat.open({ runId: runOf("q2"), input: { message: userMessage("c", "q-c"), parts: parts("c") }, prepend });
    expect(spoken(chat)).toEqual(["a", "c"]);
    expect(rowOfA()).not.toBe(first);
    // by itself it opens a turn that does not stand yet
    chat.moveTo(undefined);
    expect(say(chat, "a", "q-a").opening.kind).toBe("opened");
    expect(spoken(chat)).toEqual(["a"]);
  });
});

describe("what joins a running turn", () => {
  const done: BackgroundCompletion = {
    taskKind: "subagent",
    status: "completed",
    taskId: "t",
    subagentId: "s",
    title: "",
    detail: "",
  };

  test("HI-22 injections and completions: each once, in their order, no second request context", () => {
    const chat = new Conversation();
    const { run } = say(chat, "go", "m1");
    for (let times = 0; times < 2; times += 1) {
      chat.commit(openCompletion(chat.place(run), done, "subagent done"));
      chat.commit(openInjection(chat.place(run), "i1" as InjectionId, "user", parts("also this")));
      chat.commit(openInjection(chat.place(run), "i2" as InjectionId, "system", parts("a hook says")));
    }
    expect(chat.view.messages.slice(-3).map((row) => [row.id, row.origin])).toEqual([
      ["background-completed:subagent:s:", "runtime"],
      ["inject-context:i1", "user"],
      ["inject-context:i2", "runtime"],
    ]);
    expect(openCompletion(chat.place(run), done, "subagent done")).toEqual({ messages: [], node: undefined });
    expect(chat.view.messages.filter(isContext)).toHaveLength(1);
  });

  test("a resumed Run gets a word from the runtime only where an answer was cut off", () => {
    const chat = new Conversation();
    const { run } = say(chat, "go", "m1");
    expect(openResume(chat.place(run), "go on").node).toBeUndefined();
    chat.commit(appendStep(chat.place(run), record(run, 1, [said("half an ans")], [], true)));
    expect(isUnfinished(chat.view.messages)).toBe(true);
    chat.commit(openResume(chat.place(run), "go on"));
    expect(chat.view.messages.at(-1)).toMatchObject({ role: "user", origin: "runtime" });
  });
});

describe("an open round", () => {
  test("HI-20, HI-21 is closed call by call; stored results stay", () => {
    const chat = new Conversation();
    const { run } = say(chat, "go", "m1");
    const calls = [call(run, 1, 0, "Read", "{}"), call(run, 1, 1, "Shell", "{}")];
    chat.commit(appendStep(chat.place(run), record(run, 1, [], calls)));
    chat.commit(appendResults(chat.place(run), [result(calls[1]!, "B")]));
    expect(openCalls(chat.view.messages)).toEqual([calls[0]]);
    expect(isUnfinished(chat.view.messages)).toBe(true);
    chat.commit(appendResults(chat.place(run), [interruptedResult(calls[0]!, "user-message")]));
    expect(openCalls(chat.view.messages)).toEqual([]);
    expect(chat.view.messages.at(-1)!.content).toMatchObject({
      result: { isError: true, interrupted: "user-message" },
    });
    expect(appendResults(chat.place(run), [result(calls[0]!, "late")]).node).toBeUndefined();
  });

  test("a view after a restart is the same", () => {
    const chat = new Conversation();
    for (const text of ["one", "two"]) answer(chat, say(chat, text, `v-${text}`).run);
    const before = chat.view;
    chat.moveTo(before.head);
    expect(chat.view).toEqual(before);
    expect(isUnfinished(chat.view.messages)).toBe(false);
  });
});
