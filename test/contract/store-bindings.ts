import type { ConversationId, RequestId, RunId, ToolCallId } from "@chartroom/domain";
import { describe, expect, it } from "vitest";
import type { StoreAdapter } from "./store-adapter.ts";
import { ANN, BOB, fresh, take, toolCall, write } from "./store-samples.ts";

/** Whose a request id is. */
export function bindings(adapter: () => StoreAdapter): void {
  describe("a request id", () => {
    it("belongs to the first conversation, for ever; to another it is a conflict that changes nothing", async () => {
      const { store } = await adapter().node();
      const request = fresh("q") as RequestId;
      const [one, two] = [fresh("c"), fresh("c")] as ConversationId[];
      expect(await store.binding(ANN, request)).toBeUndefined();
      expect(await store.bind(ANN, request, one!)).toEqual({ kind: "bound", generation: 1 });
      expect(await store.bind(ANN, request, one!)).toEqual({ kind: "bound", generation: 1 });
      expect(await store.bind(ANN, request, two!)).toEqual({ kind: "conflict" });
      expect(await store.binding(ANN, request)).toEqual({ conversationId: one, generation: 1 });
    });

    it("counts its uses", async () => {
      const { store } = await adapter().node();
      const request = fresh("q") as RequestId;
      const id = fresh("c") as ConversationId;
      await store.bind(ANN, request, id);
      const numbers = await Promise.all([1, 2, 3].map(() => store.nextGeneration(ANN, request)));
      expect(new Set(numbers)).toEqual(new Set([2, 3, 4]));
      expect(await store.bind(ANN, request, id)).toEqual({ kind: "bound", generation: 4 });
      await expect(store.nextGeneration(ANN, fresh("q") as RequestId)).rejects.toMatchObject({ code: "unbound" });
    });

    it("bound at once by many to different conversations goes to exactly one", async () => {
      const { store } = await adapter().node();
      const other = await adapter().node();
      const request = fresh("q") as RequestId;
      const results = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((n) => (n % 2 ? store : other.store).bind(ANN, request, fresh("c") as ConversationId)),
      );
      expect(results.filter(({ kind }) => kind === "bound")).toHaveLength(1);
    });

    it("is the member's own: another member's is another", async () => {
      const { store } = await adapter().node();
      const request = fresh("q") as RequestId;
      const [one, two] = [fresh("c"), fresh("c")] as ConversationId[];
      await store.bind(ANN, request, one!);
      expect(await store.binding(BOB, request)).toBeUndefined();
      expect(await store.bind(BOB, request, two!)).toEqual({ kind: "bound", generation: 1 });
      expect(await store.binding(ANN, request)).toEqual({ conversationId: one, generation: 1 });
    });
  });

  describe("a parent", () => {
    it("is the Run of the call, not the newest Run of the conversation; unknown or another member's: none", async () => {
      const { store } = await adapter().node();
      const held = await take(store, fresh("c"));
      const id = held.lease.conversationId;
      const request = fresh("q") as RequestId;
      await store.bind(ANN, request, id);
      await write(store, held, { callsOpened: [toolCall("task", `${id}-r1`), toolCall("later", `${id}-r2`)] });
      const task = "task" as ToolCallId;
      const parent = { parentConversationId: id, parentRunId: `${id}-r1` as RunId, parentToolCallId: task };
      expect(await store.parentOf(ANN, request, task)).toEqual(parent);
      expect(await store.parentOf(ANN, request, "other" as ToolCallId)).toBeUndefined();
      expect(await store.parentOf(ANN, fresh("q") as RequestId, task)).toBeUndefined();
      expect(await store.parentOf(BOB, request, task)).toBeUndefined();
    });
  });
}
