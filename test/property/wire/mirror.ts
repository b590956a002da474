import type { Barrier, ConversationId, ConversationStore, MemberId, NodeId, RunRow } from "@chartroom/domain";
import { MemoryConversation } from "../../support/memory-conversation.ts";

/**
 * What the database was asked to write and has written, as rows in memory, so that a judge can look at the store at any
 * moment without waiting for it. At the end of a schedule it is compared with the database itself.
 */
export class Mirror {
  readonly #conversations = new Map<string, MemoryConversation>();
  /** Numbers of inbox rows: the database's, and the mirror's. */
  readonly #seqs = new Map<number, number>();
  readonly #waiting: (() => void)[] = [];
  /** Calls that the database has not answered. */
  busy = 0;
  /** Calls and answers so far. */
  traffic = 0;
  onCommit: ((conversation: MemoryConversation, barrier: Barrier, before: readonly RunRow[]) => void) | undefined;

  conversation(id: string): MemoryConversation | undefined {
    return this.#conversations.get(id);
  }

  /** When the database has answered all that it was asked. */
  async answered(): Promise<void> {
    while (this.busy > 0) await new Promise<void>((resume) => this.#waiting.push(resume));
  }

  /** A node's store, looked over its shoulder. Only `conversation` is swept: other schedules share the database. */
  watch(node: NodeId, store: ConversationStore, conversation: ConversationId): ConversationStore {
    const ask = async <T>(call: () => Promise<T>): Promise<T> => {
      this.busy++;
      this.traffic++;
      try {
        return await call();
      } finally {
        this.busy--;
        this.traffic++;
        if (this.busy === 0) for (const resume of this.#waiting.splice(0)) resume();
      }
    };
    const watched: Partial<ConversationStore> = {
      activate: (id, member, options) =>
        ask(async () => {
          const result = await store.activate(id, member, options);
          if (result.kind === "active") {
            const mine = this.#make(id, member);
            mine.owner = node;
            mine.fence = result.activation.lease.fence;
          }
          return result;
        }),
      release: (lease) =>
        ask(async () => {
          await store.release(lease);
          const mine = this.conversation(lease.conversationId);
          if (mine?.owner === node && mine.fence === lease.fence) mine.owner = undefined;
        }),
      commit: (lease, barrier) =>
        ask(async () => {
          const result = await store.commit(lease, barrier);
          if (result.kind === "committed")
            this.#committed(this.#make(lease.conversationId, lease.member), barrier, result);
          return result;
        }),
      overdue: (nowMs, limit) =>
        ask(async () =>
          (await store.overdue(nowMs, limit)).filter(({ conversationId }) => conversationId === conversation),
        ),
    };
    return new Proxy(store, {
      get(target, name, receiver) {
        const own: unknown = Reflect.get(watched, name);
        if (own !== undefined) return own;
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => ask(async () => Reflect.apply(member, target, args) as Promise<unknown>);
      },
    });
  }

  #make(id: ConversationId, member: MemberId): MemoryConversation {
    const mine = this.#conversations.get(id) ?? new MemoryConversation(id, member, undefined);
    this.#conversations.set(id, mine);
    return mine;
  }

  #committed(
    mine: MemoryConversation,
    barrier: Barrier,
    { inbox }: Extract<Awaited<ReturnType<ConversationStore["commit"]>>, { kind: "committed" }>,
  ): void {
    const before = [...mine.runs.values()];
    const here = (seqs: readonly number[] = []): readonly number[] => seqs.map((seq) => this.#seqs.get(seq) ?? -1);
    const placed = mine.apply({
      ...barrier,
      inboxTaken: here(barrier.inboxTaken),
      inboxDropped: here(barrier.inboxDropped),
    });
    for (const { key, seq } of inbox) {
      const same = placed.find((row) => row.key === key);
      if (same) this.#seqs.set(seq, same.seq);
    }
    this.onCommit?.(mine, barrier, before);
  }
}
