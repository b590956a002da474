import { expect, test } from "vitest";
import { appendNode } from "./chain.ts";
import { Conversation, runOf } from "./samples.ts";

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
