import type { ConversationId, ConversationStore, RunStatus } from "@chartroom/domain";
import { expect } from "vitest";
import type { Reception } from "./wire-client.ts";

/** The stream ended as it must: one end, nothing behind it. */
export function expectOneEnd(down: Reception): void {
  expect(down.ends).toHaveLength(1);
  expect(down.late).toBe(0);
}

const DELTA = /^interactionUpdate\.(?:text|thinking|token|partial|tool|summary|shell|userMessage)/u;

/** Ended completed, in the order last delta, final checkpoint, `turn_ended`, terminal (invariant 2). */
export function expectFinished(down: Reception, turns = 1): void {
  expectOneEnd(down);
  expect(down.end).toEqual({ kind: "completed" });
  const { kinds } = down;
  const checkpoint = kinds.lastIndexOf("conversationCheckpointUpdate");
  expect(checkpoint, kinds.join(" ")).toBeGreaterThan(kinds.findLastIndex((kind) => DELTA.test(kind)));
  expect(kinds.at(-1)).toBe("interactionUpdate.turnEnded");
  expect(kinds.filter((kind) => kind === "interactionUpdate.turnEnded")).toHaveLength(turns);
}

/** Ended with an error of this code, without `turn_ended`. */
export function expectFailed(down: Reception, code: string, detail?: string): void {
  expectOneEnd(down);
  expect(down.end).toMatchObject({ kind: "error", code, ...(detail === undefined ? {} : { message: detail }) });
  expect(down.kinds).not.toContain("interactionUpdate.turnEnded");
}

/** How the Runs of a conversation stand in the store, oldest first. */
export async function runStatuses(store: ConversationStore, conversationId: string): Promise<readonly RunStatus[]> {
  const view = await store.inspect(conversationId as ConversationId);
  return (view?.runs ?? []).toSorted((a, b) => a.acceptedAt - b.acceptedAt).map(({ status }) => status);
}

/** One owner at a time (invariant 5): the fences of the journal never go back, and each row belongs to one activation. */
export async function expectOneOwner(store: ConversationStore, conversationId: string): Promise<void> {
  const view = await store.inspect(conversationId as ConversationId);
  const fences = view?.journal.map(({ fence }) => fence) ?? [];
  expect(fences).toEqual(fences.toSorted((a, b) => a - b));
  expect(view?.fence ?? 0).toBeGreaterThanOrEqual(fences.at(-1) ?? 0);
  const ended = view?.runs.filter(({ endedAt }) => endedAt !== undefined) ?? [];
  expect(new Set(ended.map(({ runId }) => runId)).size).toBe(ended.length);
}
