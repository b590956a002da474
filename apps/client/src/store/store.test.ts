import { blobId, blobIdBytes } from "@chartroom/protocol";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConversationRecord, ConversationStore } from "./conversations.ts";
import { writeAtomically } from "./files.ts";
import { dataFolder } from "./location.ts";

let folder: string;
let store: ConversationStore;
beforeEach(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), "store-"));
  store = new ConversationStore(folder);
});
afterEach(() => fs.rm(folder, { recursive: true }));

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const idOf = (data: Uint8Array) => blobIdBytes(blobId(data));

describe("blobs", () => {
  it("come back by the hash of their data, also from another store on the folder", async () => {
    const data = bytes("hello");
    expect(await store.blobs.put(idOf(data), data)).toEqual({ ok: true });
    expect(await store.blobs.put(idOf(data), data)).toEqual({ ok: true });
    expect(await new ConversationStore(folder).blobs.get(idOf(data))).toEqual(Buffer.from(data));
    expect(await store.blobs.put(idOf(bytes("")), bytes(""))).toEqual({ ok: true });
    expect(await store.blobs.get(idOf(bytes("")))).toHaveLength(0);
  });

  it("HI-09: with another hash, or under no hash at all, are refused", async () => {
    expect(await store.blobs.put(idOf(bytes("a")), bytes("b"))).toMatchObject({ ok: false });
    expect(await store.blobs.put(bytes("short"), bytes("b"))).toMatchObject({ ok: false });
    expect(await store.blobs.get(idOf(bytes("a")))).toBeUndefined();
    expect(await store.blobs.get(bytes("../../x"))).toBeUndefined();
  });

  it("that were damaged on disk are as good as missing, and can be stored again", async () => {
    const data = bytes("hello");
    const id = blobId(data);
    await store.blobs.put(idOf(data), data);
    await fs.writeFile(path.join(folder, "blobs", id.slice(0, 2), id), "hellO");
    expect(await store.blobs.get(idOf(data))).toBeUndefined();
    await store.blobs.put(idOf(data), data);
    expect(await store.blobs.get(idOf(data))).toEqual(Buffer.from(data));
  });
});

describe("conversations", () => {
  const record: ConversationRecord = {
    id: "c-1",
    folder: "/ws",
    title: "Say hello",
    model: "demo",
    mode: "agent",
    createdAt: 1,
    updatedAt: 2,
    parent: undefined,
    openTurn: { messageId: "m", text: "t", mode: "ask", originalRequestId: "r", checkpointed: true },
  };

  it("come back as they were saved, readable by their owner alone", async () => {
    await store.save(record);
    expect(await store.load("c-1")).toEqual(record);
    expect((await fs.stat(path.join(folder, "conversations/c-1/conversation.json"))).mode & 0o777).toBe(0o600);
    await store.save({ ...record, openTurn: undefined });
    expect((await store.load("c-1"))?.openTurn).toBeUndefined();
  });

  it("are listed by folder, the latest first", async () => {
    await store.save(record);
    await store.save({ ...record, id: "c-2", updatedAt: 9 });
    await store.save({ ...record, id: "c-3", folder: "/other" });
    await fs.writeFile(path.join(folder, "conversations/stray"), "");
    expect((await store.list("/ws")).map(({ id }) => id)).toEqual(["c-2", "c-1"]);
    expect(await new ConversationStore(path.join(folder, "nothing")).list("/ws")).toEqual([]);
  });

  it("have a checkpoint, the last one", async () => {
    expect(await store.checkpoint("c-1")).toBeUndefined();
    await store.saveCheckpoint("c-1", bytes("one"));
    await store.saveCheckpoint("c-1", bytes("two"));
    expect(await store.checkpoint("c-1")).toEqual(Buffer.from("two"));
    expect(await fs.readdir(path.join(folder, "conversations/c-1"))).toEqual(["checkpoint.bin"]);
  });

  it("with a record that cannot be read are not there", async () => {
    await writeAtomically(path.join(folder, "conversations/c-9/conversation.json"), "{", false);
    expect(await store.load("c-9")).toBeUndefined();
  });

  it("have ids that are names, never paths", async () => {
    await expect(store.load("../x")).rejects.toThrow("not a conversation id");
    expect(() => store.terminalsFolder("a/b")).toThrow("not a conversation id");
  });
});

it("dataFolder", () => {
  expect(dataFolder({ CHARTROOM_CLIENT_DATA: "/d" }, "/h")).toBe("/d");
  expect(dataFolder({ XDG_DATA_HOME: "/x" }, "/h")).toBe("/x/chartroom-client");
  expect(dataFolder({ XDG_DATA_HOME: "relative" }, "/h")).toBe("/h/.local/share/chartroom-client");
  expect(dataFolder({}, "/h")).toBe("/h/.local/share/chartroom-client");
});
