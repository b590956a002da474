import { agent, blobId, blobIdBytes } from "@chartroom/protocol";
import { describe, expect } from "vitest";
import { test } from "../support/database.ts";
import { openRoom } from "../support/room.ts";
import { hang, say } from "../support/scripted-provider.ts";
import { acts, Chat, sees } from "./support/chat.ts";
import { historyModels } from "./support/models.ts";
import { expectPrefixes, textOf } from "./support/prefix.ts";
import { expectAllValid } from "./support/valid.ts";

const picture = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 1, 2, 3]);
const other = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 9, 9, 9]);
const base64 = (data: Uint8Array): string => Buffer.from(data).toString("base64");
const byId = (data: Uint8Array) => ({
  selectedContext: {
    selectedImages: [
      {
        mimeType: "image/png",
        path: "screen.png",
        dataOrBlobId: { case: "blobId" as const, value: blobIdBytes(blobId(data)) },
      },
    ],
  },
});
const inline = (data: Uint8Array) => ({
  selectedContext: {
    selectedImages: [
      { mimeType: "image/png", path: "screen.png", dataOrBlobId: { case: "data" as const, value: data } },
    ],
  },
});
const prefetched = (data: Uint8Array) => ({ preFetchedBlobs: [{ id: blobIdBytes(blobId(data)), value: data }] });

describe("what comes as a blob id alone", () => {
  test("TL-16 a picture that came ahead, one that the client has, and one that nobody has", async ({ node }) => {
    const models = historyModels([say("Seen.")]);
    const chat = new Chat(openRoom(node.store, models));
    const ahead = await chat.say("ahead", { message: byId(picture), request: prefetched(picture) });
    expect(ahead.downlink.kinds).not.toContain("kvServerMessage.getBlobArgs");
    expect(textOf(models.sent[0])).toContain(base64(picture));
    chat.blobs.set(blobId(other), other);
    const asked = await chat.say("asked for", { message: byId(other) });
    expect(asked.downlink.kinds).toContain("kvServerMessage.getBlobArgs");
    expect(textOf(models.sent[1])).toContain(base64(other));
    const lost = await chat.say("lost", { message: byId(new Uint8Array([1, 2, 3])) });
    expect(lost.downlink.terminals).toEqual([{ kind: "completed" }]);
    expect(textOf(models.sent[2])).toContain(
      "[A picture (screen.png, image/png) was attached; its content was not delivered.]",
    );
    // the same picture again is in the store, on another server too
    const there = chat.at(openRoom(node.store, models));
    const again = await there.say("again", { message: byId(picture) });
    expect(again.downlink.kinds).not.toContain("kvServerMessage.getBlobArgs");
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });

  test("a picture that is not what its id says is not taken; what was said of it stands, though the picture comes later", async ({
    node,
  }) => {
    const models = historyModels([say("Seen.")]);
    const chat = new Chat(openRoom(node.store, models));
    const late = new Uint8Array([...picture, 4, 5, 6]);
    chat.blobs.set(blobId(late), other);
    await chat.say("look", { message: byId(late) });
    expect(textOf(models.sent[0])).not.toContain(base64(other));
    expect(textOf(models.sent[0])).toContain("its content was not delivered");
    await chat.say("now", { message: inline(late) });
    expect(textOf(models.sent[1]).split(base64(late))).toHaveLength(2);
    expectPrefixes(models.sent);
  });

  test("TL-17 for a model without eyes a placeholder with its name stands in its place, and the picture again for one that sees", async ({
    node,
  }) => {
    const models = historyModels([say("Seen.")], [{ id: "demo-model" }, { id: "blind", images: false }]);
    const chat = new Chat(openRoom(node.store, models));
    await chat.say("look", { message: inline(picture) });
    await chat.say("and you?", { model: "blind" });
    await chat.say("and again?");
    const [first, blind, back] = models.sent;
    expect(textOf(blind)).toContain("screen.png");
    expect(textOf(blind)).not.toContain(base64(picture));
    expectPrefixes([first!, back!]);
    expectAllValid(models.sent);
  });

  test("a long text", async ({ node }) => {
    const models = historyModels([say("Read.")]);
    const chat = new Chat(openRoom(node.store, models));
    const text = new TextEncoder().encode("A very long text. ".repeat(5_000));
    const message = { text: "", textBlobId: blobIdBytes(blobId(text)) };
    const lost = await chat.say("", { message });
    expect(lost.downlink.terminals).toMatchObject([{ kind: "error", failure: { code: "BLOB_MISSING" } }]);
    chat.blobs.set(blobId(text), text);
    await chat.say("", { message });
    expect(textOf(models.sent[0])).toContain("A very long text. A very long text.");
    expect(models.sent).toHaveLength(1);
  });

  test("in messages that were queued, and in one that joins a living Run", async ({ node }) => {
    const models = historyModels([hang(["Working"]), say("Seen.")]);
    const chat = new Chat(openRoom(node.store, models));
    const queued = { text: "queued", messageId: "m-queued", mode: agent.AgentMode.AGENT, ...inline(other) };
    const stream = await chat.open(chat.message("look", { action: { prependUserMessages: [queued] } }));
    await sees(stream, "interactionUpdate.textDelta");
    chat.blobs.set(blobId(picture), picture);
    const text = new TextEncoder().encode("A text of its own. ".repeat(100));
    chat.blobs.set(blobId(text), text);
    const joins = { messageId: "m-joins", mode: agent.AgentMode.AGENT, ...byId(picture) };
    await stream.send(
      acts({
        case: "userMessageAction",
        value: { userMessage: { ...joins, text: "", textBlobId: blobIdBytes(blobId(text)) } },
      }),
    );
    await stream.downlink.ended();
    expect(stream.downlink.terminals).toEqual([{ kind: "completed" }]);
    const last = textOf(models.sent.at(-1));
    for (const piece of [base64(other), base64(picture), "A text of its own."]) expect(last).toContain(piece);
    expectPrefixes(models.sent);
    expectAllValid(models.sent);
  });
});
