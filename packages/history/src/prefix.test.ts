import type { CheckpointId, CheckpointNode, ModelMessage } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { chainOf } from "./chain.ts";
import { type CachedRequest, compareMark, comparePrefix, markOf } from "./prefix.ts";

const user = (text: string): ModelMessage => ({ role: "user", parts: [{ type: "text", text }] });
const answer = (text: string): ModelMessage => ({ role: "assistant", blocks: [{ type: "text", text }], calls: [] });
const tool = (text: string): ModelMessage => ({
  role: "tool",
  results: [{ callId: "c", toolName: "Read", text, isError: false }],
});

const before: CachedRequest = {
  system: "sys",
  tools: [{ name: "Read", description: "", inputSchema: { type: "object" } }],
  messages: [user("ctx"), user("now"), user("go"), answer("I look."), tool("A")],
  sources: ["request-context:e", "runtime:e", "user-message:e", "assistant:r:1", "tool:c"] as never,
  model: "m",
};
const at = (index: number, message: ModelMessage): CachedRequest => ({
  ...before,
  messages: before.messages.with(index, message),
});

test("a longer request keeps all of it, and the same one too", () => {
  const longer = {
    ...before,
    messages: [...before.messages, answer("Done.")],
    sources: [...before.sources, "x" as never],
  };
  expect(comparePrefix(before, longer)).toEqual({ common: 5, total: 5 });
  expect(comparePrefix(before, structuredClone(before))).toEqual({ common: 5, total: 5 });
});

test.each([
  ["model-changed", 0, { ...before, model: "n" }],
  ["system-changed", 0, { ...before, system: "sys, on Monday" }],
  ["tools-changed", 0, { ...before, tools: [] }],
  ["request-context-changed", 0, at(0, user("ctx 2"))],
  ["runtime-changed", 1, at(1, user("later"))],
  ["user-message-changed", 2, at(2, user("go!"))],
  ["assistant-changed", 3, at(3, answer("I look"))],
  ["tool-result-changed", 4, at(4, tool("B"))],
  ["branch", 2, { ...before, messages: before.messages.slice(0, 2), sources: before.sources.slice(0, 2) }],
  ["branch", 2, { ...at(2, user("other")), sources: before.sources.with(2, "user-message:f" as never) }],
  ["compaction", 0, { ...at(0, user("ctx 2")), summary: "summary:r" as never }],
])("%s, at message %d", (cause, common, now: CachedRequest) => {
  const report = comparePrefix(before, now);
  expect(report).toMatchObject({ common, total: 5, brokenBy: cause });
  expect(report.tokensLost).toBeGreaterThan(0);
});

test("the message at which it broke is named, and what is behind it is lost", () => {
  const late = comparePrefix(before, at(4, tool("B")));
  const early = comparePrefix(before, at(0, user("x")));
  expect(late.message).toBe("tool:c");
  expect(early.tokensLost).toBeGreaterThan(late.tokensLost!);
});

describe("a call that only its mark is left of", () => {
  const head = (name: string): CheckpointId => name as CheckpointId;
  const node = (id: string, parent: string | undefined, added: readonly string[], length: number): CheckpointNode => ({
    ...{ id: head(id), parent: parent === undefined ? undefined : head(parent), added: added as never },
    ...{ length, delivered: false },
  });
  const chain = chainOf(
    [
      node("a", undefined, before.sources.slice(0, 3), 3),
      node("b", "a", before.sources.slice(3), 5),
      node("c", "b", ["next"], 6),
      node("d", "a", ["other"], 4),
    ],
    [],
  );
  const longer: CachedRequest = {
    ...before,
    messages: [...before.messages, answer("Done.")],
    sources: [...before.sources, "next" as never],
  };
  const marked = { mark: markOf(before, head("b")), model: "m", tokens: 1_000 };

  test("is begun with by what goes on from it, and its mark goes on from digest to digest", () => {
    expect(compareMark(marked, longer, chain, head("c"))).toEqual({ common: 5, total: 5 });
    expect(markOf(longer, head("c"), marked.mark)).toEqual(markOf(longer, head("c")));
    expect(JSON.stringify(marked.mark)).not.toContain("I look.");
  });

  test.each([
    ["model-changed", { ...longer, model: "n" }, "c", 0],
    ["system-changed", { ...longer, system: "sys 2" }, "c", 0],
    ["tools-changed", { ...longer, tools: [] }, "c", 0],
    ["compaction", { ...longer, summary: "summary:r" as never }, "c", 0],
    ["projection-changed", { ...longer, messages: longer.messages.with(1, user("other")) }, "c", 0],
    [
      "branch",
      {
        ...before,
        messages: [...before.messages.slice(0, 3), user("other")],
        sources: [...before.sources.slice(0, 3), "other" as never],
      },
      "d",
      3,
    ],
  ] as const)("%s", (cause, now, at, common) => {
    const report = compareMark(marked, now, chain, head(at));
    expect(report).toMatchObject({ brokenBy: cause, common, total: 5 });
    expect(report.tokensLost).toBeGreaterThan(0);
    expect(report.tokensLost).toBeLessThanOrEqual(1_000);
  });
});
