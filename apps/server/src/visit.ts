import type { ConversationStore, ConversationView, Lease, NodeId } from "@chartroom/domain";
import { parseConversationId } from "@chartroom/protocol";
import { openStore } from "@chartroom/store";
import type { Config } from "./config/load.ts";
import { visitDatabase } from "./database.ts";
import { CommandError, exitCodes } from "./failure.ts";
import { systemClock, systemEntropy } from "./time.ts";

/** A conversation that is looked at, never owned. */
export interface Visit {
  readonly view: ConversationView;
  readonly store: ConversationStore;
  /** For the store's reading methods, which ask for no ownership. */
  readonly lease: Lease;
}

/**
 * Looks into a stored conversation, beside a running server or without one, and gives what `look` makes of it. Throws a
 * `CommandError` (not found) when there is no such conversation.
 */
export async function visitConversation<T>(
  config: Config,
  id: string,
  look: (visit: Visit) => T | Promise<T>,
): Promise<T> {
  const parsed = parseConversationId(id, "conversation");
  const database = parsed.ok ? await visitDatabase(config) : undefined;
  if (!parsed.ok || database === undefined) throw unknown(id, database?.where ?? config.dataFolder);
  const store = openStore({
    url: database.url,
    nodeId: systemEntropy.uuid() as NodeId,
    clock: systemClock,
    connections: 2,
  });
  try {
    const view = await store.store.inspect(parsed.value);
    if (view === undefined) throw unknown(id, database.where);
    const { conversationId, member, fence } = view;
    return await look({ view, store: store.store, lease: { conversationId, member, fence } });
  } finally {
    await store.close();
    await database.stop();
  }
}

function unknown(id: string, where: string): CommandError {
  return new CommandError(`chartroom: there is no conversation ${JSON.stringify(id)} in ${where}`, exitCodes.notFound);
}
