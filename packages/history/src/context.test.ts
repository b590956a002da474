import { expect, test } from "vitest";
import { contextParts, sectionsOf } from "./context.ts";
import { Conversation, parts, record, runOf, said, section, userMessage } from "./samples.ts";
import { appendStep } from "./step.ts";
import type { ContextSection } from "./context.ts";

let turns = 0;
function turn(chat: Conversation, context: readonly ContextSection[] | undefined): readonly string[] {
  turns += 1;
  const before = chat.view.messages.length;
  const message = userMessage("go", `m${turns}`);
  chat.open({
    runId: runOf(`r${turns}`),
    input: { message, parts: parts("go") },
    ...(context === undefined ? {} : { context }),
  });
  return chat.view.messages
    .slice(before)
    .flatMap((row) =>
      row.origin === "prompt" && row.content.kind === "parts"
        ? row.content.parts.slice(1).map((part) => (part.type === "text" ? part.text : ""))
        : [],
    );
}

test("HI-02 context A, B, A is three events, each in its place; equal context is none", () => {
  const chat = new Conversation();
  const a = [section("git", "clean"), section("rules", "be brief")];
  const b = [section("git", "M a.ts"), section("rules", "be brief")];
  expect(turn(chat, a)).toEqual([a[0]!.text, a[1]!.text]);
  expect(turn(chat, a)).toEqual([]);
  expect(turn(chat, b)).toEqual([b[0]!.text]);
  expect(turn(chat, a)).toEqual([a[0]!.text]);
  expect(chat.view.messages.filter((row) => row.origin === "prompt")).toHaveLength(3);
});

test("HI-05 a changed git status brings that section alone", () => {
  const chat = new Conversation();
  const rules = section("rules", "long ".repeat(5_000));
  turn(chat, [rules, section("git", "clean")]);
  expect(turn(chat, [rules, section("git", "M a.ts")]).join("").length).toBeLessThan(100);
});

test("a section that is gone is said to be empty, once; a client that says nothing changes nothing", () => {
  const chat = new Conversation();
  turn(chat, [section("mcp", "tracker"), section("git", "clean")]);
  expect(turn(chat, [section("git", "clean")])).toEqual(["<mcp>\n(none)\n</mcp>"]);
  expect(turn(chat, [section("git", "clean")])).toEqual([]);
  expect(turn(chat, undefined)).toEqual([]);
  expect(turn(chat, [section("git", "clean"), section("mcp", "tracker")])).toEqual(["<mcp>\ntracker\n</mcp>"]);
});

test("no sections on a branch without context is nothing to write", () => {
  expect(contextParts(new Map(), [])).toBeUndefined();
});

test("the first context says what it is, a later one that it replaces", () => {
  const intro = (known: readonly (readonly [string, string])[]) =>
    contextParts(new Map(known), [section("git", "a")])?.[0];
  expect(intro([])).toMatchObject({ text: expect.stringContaining("the machine and the workspace") });
  expect(intro([["git", "b"]])).toMatchObject({ text: expect.stringContaining("Changed since then") });
});

test("the sections of a stored context are read back; nothing else is one", () => {
  const chat = new Conversation();
  const context = [section("git", "clean"), section("rules", "be brief")];
  const run = runOf("r");
  chat.open({ runId: run, input: { message: userMessage("go", "m"), parts: parts("go") }, context });
  chat.commit(appendStep(chat.place(run), record(run, 1, [said("Done.")])));
  expect(chat.view.messages.map(sectionsOf)).toEqual([context, [], []]);
});
