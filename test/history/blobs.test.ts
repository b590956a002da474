import { agent, blobIdOf, fromBinary } from "@chartroom/protocol";
import { readState, referencedBlobs } from "@chartroom/history";
import { describe, expect } from "vitest";
import { expectPrefixes } from "./support/prefix.ts";
import { test } from "./support/database.ts";
import type { FakeDownlink, ServerMessage } from "../support/fake-downlink.ts";
import { ManualClock } from "../support/gateway/manual-clock.ts";
import { mortalStore } from "../support/mortal-store.ts";
import { ada, openRoom, type RoomStream, setBlobResult } from "../support/room.ts";
import { type Answer, call, hang, say } from "../support/scripted-provider.ts";
import { eventually } from "../support/turn.ts";
import { Chat } from "./support/chat.ts";
import { writeLong } from "./support/long.ts";
import { historyModels } from "./support/models.ts";

interface SetBlob {
  readonly kvId: number;
  readonly id: string;
  readonly bytes: number;
}

function setBlob({ message }: ServerMessage): SetBlob | undefined {
  if (message.case !== "kvServerMessage" || message.value.message.case !== "setBlobArgs") return undefined;
  const { blobId, blobData } = message.value.message.value;
  return { kvId: message.value.id, id: Buffer.from(blobId).toString("hex"), bytes: blobData.byteLength };
}

const sets = (stream: RoomStream): readonly SetBlob[] =>
  stream.downlink.messages.flatMap((message) => setBlob(message) ?? []);

const isAfter = ({ message }: ServerMessage): boolean =>
  message.case === "interactionUpdate" &&
  message.value.message.case === "textDelta" &&
  message.value.message.value.text === "After.";

const acknowledge = (stream: RoomStream, id: number) => stream.send(setBlobResult(id));

describe("LO-01 39 MB in 9,000 blobs", () => {
  test("acknowledged 20 s late: each is sent once, late acknowledgements count, deltas wait for none of them", async ({
    node,
  }) => {
    const clock = new ManualClock(Date.now());
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const models = historyModels([hang(["Before. "], gate, say("After."))], [{ id: "demo-model", window: 50_000_000 }]);
    const chat = new Chat(openRoom(node.store, models, { clock }));
    chat.acknowledges = false;
    await writeLong(node.store, ada.member, chat.conversationId, { turns: 1_000, resultLength: 19_300 });
    const stream = chat.stream();
    const { downlink } = stream;
    const sent: SetBlob[] = [];
    const seen = downlink.onMessage;
    downlink.onMessage = (message) => {
      const set = setBlob(message);
      if (set) sent.push(set);
      seen?.(message);
    };
    await stream.attach();
    await stream.send(chat.message("Go on"));
    await downlink.until(() => sent.length >= 1_000);
    // in the middle of the blobs a delta is asked for: it comes before the rest of them
    open();
    await downlink.until(() => sent.length >= 8_900 || downlink.messages.some(isAfter));
    expect(sent.length).toBeLessThan(4_000);
    await downlink.until(() => sent.length >= 8_900);
    expect(downlink.kinds).not.toContain("conversationCheckpointUpdate");
    await eventually("the Run waits for its acknowledgements", () => isPublishing(chat));
    clock.advance(20_000);
    expect(downlink.terminals).toEqual([]);
    chat.acknowledges = true;
    await Promise.all(sent.map(({ kvId }) => acknowledge(stream, kvId)));
    await downlink.ended();
    expect(downlink.text).toBe("Before. After.");
    expect(downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(downlink.kinds.at(-2)).toBe("conversationCheckpointUpdate");
    expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length);
    expect(sent.reduce((sum, { bytes }) => sum + bytes, 0)).toBeGreaterThan(39_000_000);

    // the next turn's stream carries what is new, and nothing of the old
    models.answer(say("Next."));
    const next = await chat.say("And on");
    expect(next.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(sets(next).length).toBeLessThan(20);
    const before = new Set(sent.map(({ id }) => id));
    expect(sets(next).filter(({ id }) => before.has(id))).toEqual([]);
  }, 120_000);

  test("a transport that takes little at a time: what is said comes before the blobs that wait", async ({ node }) => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let said = false;
    const after: Answer = async function* (request, signal) {
      for await (const events of say("After.")(request, signal)) {
        yield events;
        // the server has taken it
        said = true;
      }
    };
    const models = historyModels([hang(["Before. "], gate, after)], [{ id: "demo-model", window: 50_000_000 }]);
    const chat = new Chat(openRoom(node.store, models));
    await writeLong(node.store, ada.member, chat.conversationId, { turns: 300, resultLength: 4_000 });
    const stream = chat.stream();
    const narrow = narrowed(stream.downlink);
    await stream.attach();
    await stream.send(chat.message("Go on"));
    await eventually("the transport is full", () => narrow.full && sets(stream).length > 0);
    open();
    // nothing is taken meanwhile, however long the model needs
    await eventually("the model has said it", () => said);
    await eventually("the client has heard it", () => {
      narrow.drain();
      return stream.downlink.text === "Before. After.";
    });
    expect(sets(stream).length).toBeLessThan(1_000);
    await eventually("the turn has ended", () => {
      narrow.drain();
      return stream.downlink.terminals.length > 0;
    });
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    const sent = sets(stream);
    expect(sent.length).toBeGreaterThan(2_000);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length);
  }, 60_000);
});

describe("blobs of a state", () => {
  test("a client that was never given any gets all that the state names after a restart, what its turns name included", async ({
    node,
  }) => {
    const models = historyModels([call({ name: "Read", args: { path: "/ws/demo/a.ts" } }), say("One."), say("Two.")]);
    const mortal = mortalStore(node.store);
    const deaf = new Chat(openRoom(mortal.store, models, { settings: { ackMs: 1 } }));
    deaf.acknowledges = false;
    await deaf.say("one");
    await deaf.say("two");
    expect(deaf.state).toHaveLength(0);
    mortal.kill();
    deaf.blobs.clear();
    const chat = deaf.at(openRoom(node.store, models));
    models.answer(say("Three."));
    const { downlink } = await chat.say("three");
    expect(downlink.terminals).toEqual([{ kind: "completed" }]);
    const read = readState(chat.state);
    if (!read.ok) throw new Error("malformed");
    expect(read.outline.turns).toHaveLength(3);
    const named = referencedBlobs(read.outline, (id) => chat.blobs.get(id));
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((id) => !chat.blobs.has(id))).toEqual([]);
  });

  test("HI-08 an empty server does not send back what it was given, and the client's old turns stay as they are", async ({
    node,
    elsewhere,
  }) => {
    const models = historyModels([
      call({ name: "Read", args: { path: "/ws/demo/a.ts" } }),
      say("One."),
      say("Two."),
      say("Three."),
    ]);
    const chat = new Chat(openRoom(node.store, models));
    await chat.say("one");
    await chat.say("two");
    const turns = turnsOf(chat.state);
    const had = new Set(chat.blobs.keys());
    const there = chat.at(openRoom(elsewhere, models));
    const third = await there.say("three");
    expect(third.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(sets(third).filter(({ id }) => had.has(id))).toEqual([]);
    expect(turnsOf(there.state)).toHaveLength(3);
    expect(turnsOf(there.state).slice(0, 2)).toEqual(turns);
    expectPrefixes(models.sent);
  });
});

const isPublishing = (chat: Chat): boolean =>
  JSON.stringify(chat.service.registry.all()[0]?.chart().value).includes("publishing");

function turnsOf(bytes: Uint8Array): readonly (string | undefined)[] {
  return fromBinary(agent.ConversationStateStructureSchema, bytes).turns.map(blobIdOf);
}

/** A transport that is full after 64 kB until it is drained. */
function narrowed(downlink: FakeDownlink) {
  let room = 65_536;
  const drains: (() => void)[] = [];
  const write = downlink.write.bind(downlink);
  let owed = false;
  downlink.write = (bytes) => {
    room -= bytes.byteLength;
    write(bytes);
    owed ||= room <= 0;
    return room > 0;
  };
  downlink.onDrain = (...listeners: (() => void)[]) => void drains.push(...listeners);
  return {
    get full() {
      return room <= 0;
    },
    drain() {
      if (!owed) return;
      owed = false;
      room = 65_536;
      for (const listener of drains) listener();
    },
  };
}
