import { expect, test } from "vitest";
import { type StoryCall, told } from "./story.ts";

/*
 * The exact bytes of a conversation of 20 turns: what goes to a provider, before its adapter, and what goes to the client. A
 * difference is a change that breaks every prompt cache and every stored checkpoint; it needs a reason.
 */

const lines = ({ messages }: StoryCall): string => messages.map((message) => JSON.stringify(message)).join("\n");

test("HI-01 twenty turns: each request begins with the one before it, and the last is this one, to the byte", async () => {
  const requests = told(20).calls.map(lines);
  for (const [at, request] of requests.entries()) if (at > 0) expect(request.startsWith(requests[at - 1]!)).toBe(true);
  await expect(`${requests.at(-1)}\n`).toMatchFileSnapshot("golden/request.jsonl");
});

test("the checkpoint of the twenty turns, and the one after a compaction and one turn more", async () => {
  const story = told(20);
  await expect(`${story.checkpoint()}\n`).toMatchFileSnapshot("golden/checkpoint.txt");
  story.compact();
  story.turn(21);
  await expect(`${story.checkpoint()}\n`).toMatchFileSnapshot("golden/checkpoint-compacted.txt");
});
