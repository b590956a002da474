import { agent } from "@chartroom/protocol";
import type { ConversationId, ConversationStore } from "@chartroom/domain";
import { doctor } from "@chartroom/history";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { openRoom, type Room } from "../support/room.ts";
import { call, say } from "../support/scripted-provider.ts";
import { blobId, blobIdBytes, create, toBinary } from "@chartroom/protocol";
import { Chat } from "./support/chat.ts";
import { historyModels } from "./support/models.ts";
import { expectPrefixes, textOf } from "./support/prefix.ts";
import { expectAllValid } from "./support/valid.ts";

const rows = async (store: ConversationStore, chat: Chat) =>
  (await store.inspect(chat.conversationId as ConversationId))?.modelCalls ?? [];
const broken = (room: Room): readonly (readonly [string, boolean])[] =>
  room.events.flatMap((event) =>
    event.type === "prefix.broken" ? [[event.cause, event.tokensLost > 0] as const] : [],
  );
const settled = (chat: Chat) => Promise.all(chat.service.registry.all().map((activation) => activation.written()));

describe("the cache detector", () => {
  test("PR-20 each call's row says how many messages it has in common with the last one of its branch, and what broke that", async ({
    node,
  }) => {
    const models = historyModels([call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("One.")]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    await chat.say("one");
    const first = chat.state;
    await chat.say("two");
    expect(broken(room)).toEqual([]);
    await chat.say("three", { mode: agent.AgentMode.ASK });
    chat.state = first;
    await chat.say("another two", { mode: agent.AgentMode.ASK });
    await settled(chat);
    const calls = await rows(node.store, chat);
    expect(calls.map(({ step, prefix }) => [step, prefix?.common, prefix?.total, prefix?.brokenBy])).toEqual([
      [1, undefined, undefined, undefined],
      [2, 3, 3, undefined],
      [1, 5, 5, undefined],
      [1, 0, 8, "system-changed"],
      // the last call of the branch that was gone back to was made in the other mode
      [1, 0, 5, "system-changed"],
    ]);
    expect(calls.every(({ mark }) => mark !== undefined)).toBe(true);
    expect(JSON.stringify(calls)).not.toContain("another two");
    expect(broken(room)).toEqual([
      ["system-changed", true],
      ["system-changed", true],
    ]);
    const view = await node.store.inspect(chat.conversationId as ConversationId);
    const traced = view?.traces.map(({ attributes }) => [
      attributes["history.relation"],
      attributes["step.1.prefix.brokenBy"],
    ]);
    expect(traced).toHaveLength(4);
    expect(traced).toEqual(
      expect.arrayContaining([
        ["new", undefined],
        ["continue", undefined],
        ["continue", "system-changed"],
        ["rewind", "system-changed"],
      ]),
    );
  });

  test("knows the last call beyond a restart, and what an update of the software changed", async ({ node }) => {
    const models = historyModels([say("One.")]);
    const mortal = mortalStore(node.store);
    const chat = new Chat(openRoom(mortal.store, models));
    await chat.say("one");
    await settled(chat);
    mortal.kill();
    const second = openRoom(node.store, models);
    const there = chat.at(second);
    await there.say("two");
    expect(broken(second)).toEqual([]);
    await settled(there);
    expect((await rows(node.store, chat)).at(-1)?.prefix).toEqual({ common: 3, total: 3 });

    // as if the version before had had other tools
    const updated = openRoom(
      {
        ...node.store,
        markedCalls: async (lease, limit) =>
          (await node.store.markedCalls(lease, limit)).map((row) => ({
            ...row,
            ...(row.mark ? { mark: { ...row.mark, tools: "other" } } : {}),
          })),
      },
      models,
    );
    await there.at(updated).say("three");
    expect(broken(updated)).toEqual([["tools-changed", true]]);
  });

  test("a compaction is a break with a name, and its summary is a call of its own in the rows", async ({ node }) => {
    const models = historyModels([say("One.")]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    await chat.say("one");
    await chat.summarize();
    await chat.say("two");
    await chat.say("three");
    await settled(chat);
    expect(broken(room)).toEqual([["compaction", true]]);
    expect((await rows(node.store, chat)).map(({ purpose, outcome }) => [purpose, outcome])).toEqual([
      [undefined, "completed"],
      ["summary", "completed"],
      [undefined, "completed"],
      [undefined, "completed"],
    ]);
  });
});

describe("HI-23 a history that is poisoned already", () => {
  const tool = (id: string, name = "Read") => ({
    type: "tool-result",
    toolCallId: id,
    toolName: name,
    result: `of ${id}`,
  });
  const asks = (id: string, args: unknown = { path: "a" }) => ({
    type: "tool-call",
    toolCallId: id,
    toolName: "Read",
    args,
  });
  const POISON = [
    { role: "system", content: "An old system text." },
    { role: "assistant", content: [{ type: "text", text: "I speak first." }] },
    { role: "user", content: "Read it" },
    { role: "tool", content: [tool("nobody asked")] },
    { role: "assistant", content: [asks("call_0"), asks("call_0", { path: "b" })] },
    { role: "tool", content: [tool("call_0"), tool("call_0")] },
    { role: "assistant", content: [asks("call_0", "{broken"), { type: "text", text: "after the call" }] },
    { role: "user", content: "Never mind \ud800" },
    { role: "assistant", content: [{ type: "reasoning", text: "Only a thought" }] },
    { role: "assistant", content: [] },
    { role: "user", content: "" },
  ];

  test("is imported, healed in projection, told of, and its rows stay as they are; the chat goes on for every provider", async ({
    node,
  }) => {
    const models = historyModels([say("Going on."), say("And on.")]);
    const room = openRoom(node.store, models);
    const chat = new Chat(room);
    const roots = POISON.map((json) => {
      const data = new TextEncoder().encode(JSON.stringify(json));
      chat.blobs.set(blobId(data), data);
      return blobIdBytes(blobId(data));
    });
    chat.state = toBinary(
      agent.ConversationStateStructureSchema,
      create(agent.ConversationStateStructureSchema, { rootPromptMessagesJson: roots }),
    );
    const first = await chat.say("Go on");
    expect(first.downlink.terminals).toEqual([{ kind: "completed" }]);
    const before = await history(chat);
    await chat.say("And now?");
    const after = await history(chat);
    expect(after.slice(0, before.length)).toEqual(before);
    expectAllValid(models.sent);
    expectPrefixes(models.sent);
    for (const kept of ["I speak first.", "of nobody asked", "{broken", "after the call", "Only a thought"])
      expect(textOf(models.sent.at(-1))).toContain(JSON.stringify(kept).slice(1, -1));
    expect(models.sent.at(-1)!.request.system).toContain("An old system text.");

    const findings = doctor(after);
    expect(new Set(findings.map(({ kind }) => kind))).toEqual(
      new Set([
        ...[
          "orphan-result",
          "duplicate-call-id",
          "invalid-arguments",
          "missing-result",
          "no-first-user",
          "broken-text",
        ],
        ...["thinking-only", "empty-message"],
      ]),
    );
    expect(findings.every(({ healing }) => healing.length > 10)).toBe(true);
    const [healed] = room.events.filter((event) => event.type === "history.healed");
    expect(healed).toMatchObject({ count: findings.length });

    // another server reads the same rows and makes the same request of them
    models.answer(say("The same."));
    const there = chat.at(openRoom(node.store, models));
    await there.say("Still?");
    expectPrefixes(models.sent);
  });
});

async function history(chat: Chat) {
  const activation = chat.service.registry.find(chat.conversationId as ConversationId);
  await activation?.loadHistory();
  return activation?.history.view.messages ?? [];
}
