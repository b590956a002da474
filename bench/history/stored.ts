import type { ConversationId } from "@chartroom/domain";
import { type BenchRoom, principal } from "../actors/room.ts";
import type { Rows } from "./grown.ts";

/** Turns' rows that go into one barrier. */
const SLICE = 400;

/** Writes a conversation as a server would have stored it, and gives it up. */
export async function store(room: BenchRoom, conversationId: string, rows: Rows): Promise<void> {
  const taken = await room.store.store.activate(conversationId as ConversationId, principal.member, { create: true });
  if (taken.kind !== "active") throw new Error(taken.kind);
  const { lease } = taken.activation;
  const messages = new Map(rows.messages.map((message) => [message.id, message]));
  for (let at = 0; at < rows.checkpoints.length; at += SLICE) {
    const checkpoints = rows.checkpoints.slice(at, at + SLICE);
    const head = checkpoints.at(-1)?.id;
    const done = await room.store.store.commit(lease, {
      checkpoints,
      messages: checkpoints.flatMap(({ added }) => added.flatMap((id) => messages.get(id) ?? [])),
      ...(at === 0 ? { anchors: rows.anchors } : {}),
      ...(head ? { head } : {}),
    });
    if (done.kind !== "committed") throw new Error(done.kind);
  }
  await room.store.store.release(lease);
}
