import type { BlobId, CheckpointId, CheckpointNode, HistoryId } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import type { StoreAdapter } from "./store-adapter.ts";
import {
  ANN,
  anchor,
  assistantMessage,
  blob,
  BOB,
  bytes,
  checkpoint,
  fresh,
  resultMessage,
  take,
  textMessage,
  toolResult,
  write,
} from "./store-samples.ts";

/** Messages, nodes, anchors and blobs: what was written stands, byte for byte. */
export function history(adapter: () => StoreAdapter): void {
  describe("messages", () => {
    it("come back as they went in: order of keys, NUL, half a surrogate pair, bytes", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const awkward = textMessage("odd", 'quote " back \\ slash \\u0000 nul \0 half \ud83d emoji 😀 {"b":1,"a":2}');
      const picture = { type: "image", blob: "b" as BlobId, mimeType: "image/png" } as const;
      const rows = [
        awkward,
        assistantMessage("said"),
        resultMessage("plain", toolResult("t1")),
        resultMessage(
          "shown",
          toolResult("t2", "no", { display: bytes(0, 1, 255), image: picture, interrupted: "failed" }),
        ),
        resultMessage("nothing", toolResult("t3", "", { display: bytes() })),
      ];
      const node = checkpoint(
        "k",
        undefined,
        rows.map(({ id }) => id),
      );
      await write(store, held, { messages: rows, checkpoints: [node] });
      const read = await store.messages(held.lease, node.id);
      expect(read).toEqual(rows);
      expect(JSON.stringify(read[1]!.content)).toBe(JSON.stringify(rows[1]!.content));
    });

    it("are never changed: the first content of an id stands", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const node = checkpoint("k", undefined, ["m"]);
      await write(store, held, { messages: [textMessage("m", "first")], checkpoints: [node] });
      await write(store, held, { messages: [textMessage("m", "second")] });
      expect(await store.messages(held.lease, node.id)).toEqual([textMessage("m", "first")]);
    });

    it("follow the chain from its root, along one branch, or behind a node of it", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const root = checkpoint("root", undefined, ["m1", "m2"]);
      const empty = checkpoint("empty", root, []);
      const left = checkpoint("left", empty, ["m3"]);
      const right = checkpoint("right", empty, ["m4", "m1"]);
      const tip = checkpoint("tip", right, ["m5"]);
      await write(store, held, {
        messages: ["m1", "m2", "m3", "m4", "m5"].map((id) => textMessage(id)),
        checkpoints: [root, empty, left, right, tip],
      });
      const ids = async (head: CheckpointNode, after?: CheckpointNode): Promise<string[]> =>
        (await store.messages(held.lease, head.id, after?.id)).map(({ id }) => id);
      expect(await ids(left)).toEqual(["m1", "m2", "m3"]);
      expect(await ids(tip)).toEqual(["m1", "m2", "m4", "m1", "m5"]);
      expect(await ids(tip, right)).toEqual(["m5"]);
      expect(await ids(tip, root)).toEqual(["m4", "m1", "m5"]);
      expect(await ids(tip, tip)).toEqual([]);
      expect(await ids(empty, root)).toEqual([]);
      await expect(ids(left, right)).rejects.toMatchObject({ code: "brokenChain" });
      await expect(ids(checkpoint("unknown", undefined, []))).rejects.toMatchObject({ code: "brokenChain" });
    });

    it("that a node lists and nobody stored are an error, not a gap", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const node = checkpoint("k", undefined, ["m1", "lost"]);
      await write(store, held, { messages: [textMessage("m1")], checkpoints: [node] });
      await expect(store.messages(held.lease, node.id)).rejects.toMatchObject({ code: "brokenChain" });
    });
  });

  describe("nodes", () => {
    it("come in the order in which they were committed, whole but for their wire state", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const first = { ...checkpoint("z", undefined, ["m"]), compaction: { summaryId: "s" as HistoryId } };
      const second = {
        ...checkpoint("a", first, []),
        compaction: { summaryId: "s" as HistoryId, keptFrom: "m" as HistoryId },
      };
      await write(store, held, { checkpoints: [first] });
      await write(store, held, { checkpoints: [{ ...second, wireState: bytes(1) }, checkpoint("b", second, [])] });
      expect(await store.checkpoints(held.lease)).toEqual([first, second, checkpoint("b", second, [])]);
    });

    it("get their wire state and their delivery once, and change in nothing else", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const node = checkpoint("k", undefined, ["m"]);
      const now = () => store.checkpoint(held.lease, node.id);
      await write(store, held, { checkpoints: [node] });
      await write(store, held, { checkpoints: [{ ...node, added: [], length: 99, wireState: bytes(1) }] });
      expect(await now()).toEqual({ ...node, wireState: bytes(1) });
      await write(store, held, { checkpoints: [{ ...node, wireState: bytes(2) }], checkpointDelivered: [node.id] });
      expect(await now()).toEqual({ ...node, wireState: bytes(1), delivered: true });
      await write(store, held, { checkpoints: [node] });
      expect(await now()).toEqual({ ...node, wireState: bytes(1), delivered: true });
    });

    it("are marked as delivered one by one", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const nodes = ["a", "b", "c"].map((id) => checkpoint(id, undefined, []));
      await write(store, held, { checkpoints: nodes });
      await write(store, held, { checkpointDelivered: ["a", "c", "unknown"] as CheckpointId[] });
      expect((await store.checkpoints(held.lease)).map(({ delivered }) => delivered)).toEqual([true, false, true]);
    });
  });

  describe("anchors", () => {
    it("are kept in order, each place once: an edit adds one, and so does the same event at another base", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const base = checkpoint("k", undefined, []);
      const all = [anchor("i", "e1"), anchor("i", "e2", base), anchor("i", "e1", base), anchor("a", "e1")];
      await write(store, held, { anchors: all.slice(0, 2) });
      await write(store, held, { anchors: [...all, all[0]!] });
      expect(await store.anchors(held.lease)).toEqual(all);
    });
  });

  describe("blobs", () => {
    it("are found by the member that they belong to, and by nobody else", async () => {
      const { store } = await adapter().node();
      const ann = await take(store, fresh("c"), ANN);
      const bob = await take(store, fresh("c"), BOB);
      const [one, two, none] = [blob(fresh("b"), 1, 0, 255), blob(fresh("b")), blob(fresh("b"))];
      await write(store, ann, { blobs: [one, two] });
      await write(store, bob, { blobs: [two] });
      const all = [one.id, two.id, none.id];
      expect(await store.blobs(ANN, all)).toEqual(new Map([one, two].map(({ id, data }) => [id, data])));
      expect(await store.blobs(BOB, all)).toEqual(new Map([[two.id, two.data]]));
      expect(await store.hasBlobs(ANN, all)).toEqual(new Set([one.id, two.id]));
      expect(await store.hasBlobs(BOB, all)).toEqual(new Set([two.id]));
      expect(await store.blobs(ANN, [])).toEqual(new Map());
    });

    it("of megabytes, by the thousand, fit into one barrier", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const many = Array.from({ length: 9_000 }, (_, n) => blob(fresh("many"), n & 255, n >> 8));
      const large = { ...blob(fresh("large")), data: new Uint8Array(8 << 20).map((_, at) => at % 251) };
      await write(store, held, { blobs: [...many, large] });
      expect(
        (
          await store.hasBlobs(
            ANN,
            many.map(({ id }) => id),
          )
        ).size,
      ).toBe(9_000);
      const [data] = (await store.blobs(ANN, [large.id])).values();
      expect(Buffer.compare(data!, large.data)).toBe(0);
    });
  });
}
