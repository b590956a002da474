import type { Clock, ConversationStore } from "@chartroom/domain";
import { agent, fromBinary } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { systemClock } from "../support/clock.ts";
import { commitGate } from "../support/commit-gate.ts";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom, type RoomStream } from "../support/room.ts";
import { say } from "../support/scripted-provider.ts";
import { cancels, Chat, sees } from "./support/chat.ts";
import { historyModels } from "./support/models.ts";
import { inOrder, times } from "./support/order.ts";
import { expectPrefixes, textOf } from "./support/prefix.ts";

/** A Run that is at its end, and waits for its client's acknowledgements until `let` is called. */
async function ending(store: ConversationStore): Promise<{
  readonly models: ReturnType<typeof historyModels>;
  readonly chat: Chat;
  readonly first: RoomStream;
  let(): Promise<void>;
}> {
  const models = historyModels([say("One."), say("All seen."), say("Once more.")]);
  let later = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + later };
  const chat = new Chat(openRoom(store, models, { clock }));
  chat.acknowledges = false;
  const first = await chat.open(chat.message("one"));
  await sees(first, "kvServerMessage.setBlobArgs");
  return {
    ...{ models, chat, first },
    async let() {
      await first.acknowledge();
      await first.downlink.ended();
      // what is said next is said by one who has seen it, not within the round trip of what was held
      later = 5_000;
    },
  };
}

describe("a message whose Run waited and did not begin", () => {
  test("three messages on streams of their own in a moment: the one in the middle, whose Run was replaced, is said before the last", async ({
    node,
  }) => {
    const held = await ending(node.store);
    const { chat, models } = held;
    const middle = await chat.stream().attach();
    const last = await chat.stream().attach();
    expect((await middle.send(chat.message("two"))).kind).toBe("run");
    expect((await last.send(chat.message("three"))).kind).toBe("run");
    await held.let();
    await last.downlink.ended();
    expect(middle.downlink.terminals).toMatchObject([{ failure: { code: "SUPERSEDED" } }]);
    expect(last.downlink.terminals).toEqual([{ kind: "completed" }]);
    const text = textOf(models.sent.at(-1));
    inOrder(text, '"one"', "One.", '"two"', '"three"');
    for (const said of ['"one"', '"two"', '"three"']) expect(times(text, said)).toBe(1);
    expectPrefixes(models.sent);
    // in the chat that its client keeps too
    expect(fromBinary(agent.ConversationStateStructureSchema, chat.state).turns).toHaveLength(3);
  });

  test("cancelled: no Run opens for it, and it is said before the next message, by another server too", async ({
    node,
  }) => {
    const mortal = mortalStore(node.store);
    const held = await ending(mortal.store);
    const { chat, models } = held;
    const waiting = await chat.open(chat.message("two"));
    await waiting.send(cancels);
    await waiting.downlink.ended();
    expect(waiting.downlink.terminals).toMatchObject([{ failure: { code: "CANCELLED" } }]);
    await held.let();
    mortal.kill();
    const there = chat.at(openRoom(node.store, models));
    await there.say("three");
    expect(models.turns).toHaveLength(2);
    const text = textOf(models.sent.at(-1));
    inOrder(text, '"one"', "One.", '"two"', '"three"');
    expect(times(text, '"two"')).toBe(1);
    expectPrefixes(models.sent);
    await there.say("four");
    expect(times(textOf(models.sent.at(-1)), '"two"')).toBe(1);
  });

  test("replaced, and the server was killed before that was written: it is said all the same", async ({ node }) => {
    const mortal = mortalStore(node.store);
    const gate = commitGate(mortal.store);
    const held = await ending(gate.store);
    const { chat, models } = held;
    const middle = await chat.stream().attach();
    expect((await middle.send(chat.message("two"))).kind).toBe("run");
    const request = chat.message("three");
    gate.hold((barrier) => (barrier.runsChanged ?? []).some(({ status }) => status === "superseded"));
    const last = await chat.open(request);
    await expect.poll(() => gate.held).toBe(1);
    mortal.kill();
    last.downlink.lose();
    const there = chat.at(openRoom(node.store, models));
    there.acknowledges = true;
    const again = await there.finish(request);
    expect(again.downlink.terminals).toEqual([{ kind: "completed" }]);
    const text = textOf(models.sent.at(-1));
    inOrder(text, '"one"', "One.", '"two"', '"three"');
    for (const said of ['"one"', '"two"', '"three"']) expect(times(text, said)).toBe(1);
  });

  test("sent again after a cancel: it is said once", async ({ node }) => {
    const held = await ending(node.store);
    const { chat, models } = held;
    const waiting = await chat.open(chat.message("two", { messageId: "m-two" }));
    await waiting.send(cancels);
    await waiting.downlink.ended();
    await held.let();
    await chat.say("two", { messageId: "m-two" });
    const text = textOf(models.sent.at(-1));
    inOrder(text, '"one"', "One.", '"two"');
    expect(times(text, '"two"')).toBe(1);
    await chat.say("three");
    expect(times(textOf(models.sent.at(-1)), '"two"')).toBe(1);
  });

  test("taken back by a client that goes back to before it: it is not said", async ({ node }) => {
    const held = await ending(node.store);
    const { chat, models } = held;
    const waiting = await chat.open(chat.message("two"));
    await waiting.send(cancels);
    await waiting.downlink.ended();
    await held.let();
    const { state } = chat;
    chat.state = new Uint8Array();
    await chat.say("instead");
    expect(textOf(models.sent.at(-1))).not.toContain('"two"');
    chat.state = state;
    await chat.say("three");
    expect(textOf(models.sent.at(-1))).not.toContain('"two"');
  });
});
