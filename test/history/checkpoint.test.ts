import { agent, blobId, blobIdBytes, fromBinary, toBinary } from "@chartroom/protocol";
import type { ConversationId } from "@chartroom/domain";
import { describe, expect } from "vitest";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom } from "../support/room.ts";
import { call, say } from "../support/scripted-provider.ts";
import { Chat } from "./support/chat.ts";
import { test } from "./support/database.ts";
import { historyModels } from "./support/models.ts";
import { expectPrefix, expectPrefixes, textOf } from "./support/prefix.ts";
import { expectAllValid } from "./support/valid.ts";

const stateOf = (chat: Chat) => fromBinary(agent.ConversationStateStructureSchema, chat.state);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("a state that comes from a client", () => {
  test("HI-09 with a blob that is not what its id says: refused, the conversation is as it was and goes on from its own state", async ({
    node,
  }) => {
    const models = historyModels([say("One."), say("Two.")]);
    const chat = new Chat(openRoom(node.store, models));
    await chat.say("one");
    await chat.say("two");
    const own = chat.state;
    const before = await stored(chat);

    // a root of its own, whose blob is another text: neither may come into history
    const state = stateOf(chat);
    const root = bytesOf(JSON.stringify({ role: "user", content: "what the id is of" }));
    chat.blobs.set(blobId(root), bytesOf(JSON.stringify({ role: "user", content: "forged" })));
    state.rootPromptMessagesJson.push(blobIdBytes(blobId(root)));
    chat.state = toBinary(agent.ConversationStateStructureSchema, state);
    for (const refused of [await chat.say("three"), await chat.say("three, once more")]) {
      expect(refused.downlink.terminals).toMatchObject([
        { kind: "error", failure: { code: "BLOB_INVALID", retryable: false } },
      ]);
      expect(refused.downlink.kinds).not.toContain("conversationCheckpointUpdate");
    }
    expect(models.sent).toHaveLength(2);
    expect(await stored(chat)).toEqual(before);

    chat.state = own;
    models.answer(say("Four."));
    await chat.say("four");
    expectPrefixes(models.sent);
    expect(textOf(models.sent.at(-1))).not.toMatch(/three|forged|what the id is of/u);

    async function stored(one: Chat): Promise<unknown> {
      const view = await node.store.inspect(one.conversationId as ConversationId);
      return [view?.messages, view?.head];
    }
  });

  test.for([
    ["the server that wrote it, killed meanwhile", "a newer request took the turn's place"],
    ["a server that has nothing else", "the user sent a new message"],
  ] as const)(
    "HI-20 while a call is open, and the user says something instead of its result, at %s: the call is closed as interrupted, and the chat goes on",
    async ([where, reason], { node, elsewhere }) => {
      const read = (name: string) => ({ name: "Read", args: { path: `/ws/demo/${name}.ts` } });
      const models = historyModels([say("One."), call(read("a"), read("open")), say("Not both, then."), say("Next.")]);
      const mortal = mortalStore(node.store);
      const chat = new Chat(openRoom(mortal.store, models));
      const { onExec } = chat;
      chat.onExec = (exec) =>
        exec.message.case === "readArgs" && exec.message.value.path.includes("open") ? undefined : onExec(exec);
      await chat.say("one");
      const stream = await chat.open(chat.message("read both"));
      await stream.downlink.until(() => stateOf(chat).pendingToolCalls.length > 0);
      await stream.downlink.until(() => stream.downlink.kinds.includes("interactionUpdate.toolCallCompleted"));
      mortal.kill();

      const store = where.includes("killed") ? node.store : elsewhere;
      const there = chat.at(openRoom(store, models));
      const next = await there.say("never mind");
      expect(next.downlink.terminals).toEqual([{ kind: "completed" }]);
      expect(next.downlink.kinds.filter((kind) => kind.startsWith("execServerMessage"))).toEqual([]);
      await there.say("and on");
      expectAllValid(models.sent);
      expectPrefix(models.sent[0]!, models.sent[2]!);
      expectPrefixes(models.sent.slice(1));
      const last = textOf(models.sent.at(-1));
      const order = ["read both", reason, "never mind", "Not both, then.", "and on"].map((text) => last.indexOf(text));
      expect(order).not.toContain(-1);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
      expect(stateOf(there).pendingToolCalls).toEqual([]);
    },
  );
});
