import type { CommandBus, ConversationId, Directory, NodeId } from "@chartroom/domain";

/** The directory of a node without a bus: what it holds is here, all else only the store knows (activation asks it). */
export class LocalDirectory implements Directory {
  readonly self: NodeId;
  readonly #holds: (conversationId: ConversationId) => boolean;

  constructor(self: NodeId, holds: (conversationId: ConversationId) => boolean) {
    this.self = self;
    this.#holds = holds;
  }

  locate(conversationId: ConversationId): ReturnType<Directory["locate"]> {
    return Promise.resolve(this.#holds(conversationId) ? { kind: "here" } : { kind: "unowned" });
  }
}

/** The bus of a node without others: nothing can be forwarded, the caller answers `unavailable`, retryable. */
export class LocalCommandBus implements CommandBus {
  forward(): ReturnType<CommandBus["forward"]> {
    return Promise.resolve({ kind: "unavailable" });
  }

  handle(): () => void {
    return () => undefined;
  }
}
