import { replay } from "@chartroom/conversation";
import type { ConversationId, ConversationView, LifecycleEvent } from "@chartroom/domain";
import { describe, expect, vi } from "vitest";
import { test, type TestNode } from "../support/database.ts";
import { openRoom, type RoomClient, type RoomStream } from "../support/room.ts";
import { call, hang, say, scriptedModels } from "../support/scripted-provider.ts";

const sees = (stream: RoomStream, kind: string): Promise<void> =>
  stream.downlink.until(() => stream.downlink.kinds.includes(kind));
const cancel = {
  message: { case: "conversationAction", value: { action: { case: "cancelAction", value: { reason: "user" } } } },
} as const;

/** What the store has of a conversation, once it rests there. */
async function stored(node: TestNode, person: RoomClient): Promise<ConversationView> {
  return vi.waitFor(async () => {
    const view = await node.store.inspect(person.conversationId as ConversationId);
    if (view?.chart?.value !== "idle") throw new Error("it does not rest");
    return view;
  });
}

async function turn(person: RoomClient, text: string): Promise<RoomStream> {
  const stream = await person.stream().attach();
  await stream.send(person.runRequest(text));
  await stream.downlink.ended();
  return stream;
}

describe("the journal of a conversation, run through the chart again", () => {
  test("reaches the recorded states: a tool call, a second turn", async ({ node }) => {
    const room = openRoom(node.store, scriptedModels(call({ name: "NoSuchTool", args: {} }), say("One."), say("Two.")));
    const person = room.client();
    await turn(person, "first");
    await turn(person, "second");
    const view = await stored(node, person);
    expect(view.journal.map((row) => row.event.type)).toContain("tool.settled");
    expect(replay(view)).toEqual({ ok: true, activations: 1, events: view.journal.length, state: "idle" });
  });

  test("reaches them after a cancel", async ({ node }) => {
    const room = openRoom(node.store, scriptedModels(hang(["Half"]), say("Next.")));
    const person = room.client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Go"));
    await sees(stream, "interactionUpdate.textDelta");
    await stream.send(cancel);
    await stream.downlink.ended();
    await turn(person, "on");
    const view = await stored(node, person);
    expect(view.runs.map((run) => run.status)).toEqual(["cancelled", "completed"]);
    expect(replay(view)).toMatchObject({ ok: true });
  });

  test("reaches them on a conversation that was left in the middle and restored by another node", async ({
    openNode,
  }) => {
    const first = await openNode();
    const models = scriptedModels(hang(["Half"]), say("Whole."));
    const person = openRoom(first.store, models).client();
    const stream = await person.stream().attach();
    await stream.send(person.runRequest("Go"));
    await sees(stream, "interactionUpdate.textDelta");
    // the first node is gone without a word: its lease ends, nothing of it runs on
    await first.nodeLease.stop();
    await first.close();
    const second = await openNode();
    const room = openRoom(second.store, models);
    const again = room.client();
    again.conversationId = person.conversationId;
    await turn(again, "Anything new?");
    const view = await stored(second, again);
    expect(new Set(view.journal.map((row) => row.fence)).size).toBe(2);
    expect(replay(view)).toMatchObject({ ok: true, activations: 2 });
  });
});

describe("a journal that does not fit", () => {
  test("is told apart by its first difference", async ({ node }) => {
    const room = openRoom(node.store, scriptedModels(say("One.")));
    const person = room.client();
    await turn(person, "first");
    const view = await stored(node, person);
    const at = view.journal.findIndex((row) => row.event.type === "model.completed");
    const change = (index: number, row: Partial<LifecycleEvent>): ConversationView => ({
      ...view,
      journal: view.journal.map((old, n) => (n === index ? { ...old, ...row } : old)),
    });

    expect(replay(change(at, { to: "idle" }))).toMatchObject({
      ok: false,
      difference: { reason: "the event leads to another state", recorded: "idle", row: { seq: at + 1 } },
    });
    expect(replay(change(at, { from: "idle" }))).toMatchObject({
      ok: false,
      difference: { reason: "the row begins in another state", recorded: "idle" },
    });
    expect(replay({ ...view, journal: view.journal.filter((_, n) => n !== at) })).toMatchObject({
      ok: false,
      difference: { reason: `row ${at + 1} is missing` },
    });
    expect(replay({ ...view, journal: view.journal.slice(1) })).toMatchObject({
      ok: false,
      difference: { reason: "the journal of an activation does not begin with its start" },
    });
    expect(replay({ ...view, chart: { ...view.chart!, value: "preparing" } })).toMatchObject({
      ok: false,
      difference: { reason: "the stored state is another one", recorded: "preparing" },
    });
    expect(replay({ ...view, chart: { ...view.chart!, context: { ...view.chart!.context, step: 7 } } })).toMatchObject({
      ok: false,
      difference: { reason: "the stored context differs in step" },
    });
    expect(replay({ ...view, chart: { ...view.chart!, version: 99 } })).toMatchObject({ ok: false });
  });

  test("none at all is no difference", () => {
    expect(replay({ journal: [], chart: undefined })).toEqual({
      ok: true,
      activations: 0,
      events: 0,
      state: undefined,
    });
  });
});
