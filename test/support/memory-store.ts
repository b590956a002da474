import type {
  Activation,
  ActivationResult,
  Barrier,
  CanonicalMessage,
  CheckpointId,
  CheckpointNode,
  CommitResult,
  ConversationId,
  ConversationStore,
  Lease,
  MemberId,
  NodeId,
  RequestId,
  RunRow,
} from "@chartroom/domain";
import { StoreError } from "@chartroom/store";
import { MemoryConversation } from "./memory-conversation.ts";

interface Binding {
  readonly conversationId: ConversationId;
  generation: number;
}

/** One truth in memory that any number of nodes share: the contract of the store without a database (`test/contract`). */
export class MemoryTruth {
  readonly #conversations = new Map<ConversationId, MemoryConversation>();
  readonly #bindings = new Map<string, Binding>();
  readonly #blobs = new Map<string, Uint8Array>();
  /** Ids of Runs are unique everywhere. */
  readonly #runOwners = new Map<string, ConversationId>();
  readonly #living = new Set<NodeId>();
  /** Looks at each barrier once it is written, with the conversation before (`runs`) and after it. */
  onCommit: ((conversation: MemoryConversation, barrier: Barrier, before: readonly RunRow[]) => void) | undefined;

  conversation(id: string): MemoryConversation | undefined {
    return this.#conversations.get(id as ConversationId);
  }

  /** The lease of a node ends, though its process may run on. */
  expire(node: NodeId): void {
    this.#living.delete(node);
  }

  /** Whether a node's lease has not ended. */
  lives(node: NodeId): boolean {
    return this.#living.has(node);
  }

  /** A node's store; the node is alive until it expires. */
  node(node: NodeId): ConversationStore {
    this.#living.add(node);
    const read = (lease: Lease): MemoryConversation => {
      const found = this.#conversations.get(lease.conversationId);
      if (!found) throw new StoreError("rejected", "no such conversation");
      return found;
    };
    // every answer comes in a later turn of the microtask queue, as from anything that is asked
    return {
      activate: async (id, member, options) => this.#activate(node, id, member, options),
      release: async (lease) => {
        const found = this.#conversations.get(lease.conversationId);
        if (found?.owner === node && found.fence === lease.fence) found.owner = undefined;
      },
      commit: async (lease, barrier) => this.#commit(node, lease, barrier),
      messages: async (lease, head, after) => messagesOf(read(lease), head, after),
      checkpoints: async (lease) => [...read(lease).nodes.values()].map(({ wireState: _wireState, ...node_ }) => node_),
      checkpoint: async (lease, id) => read(lease).nodes.get(id),
      anchors: async (lease) => [...read(lease).anchors],
      toolCalls: async (lease, runId) => [...read(lease).calls.values()].filter((call) => call.runId === runId),
      markedCalls: async (lease, limit) => read(lease).markedCalls(limit),
      run: async (lease, by) =>
        "requestId" in by
          ? read(lease).runOf(by.requestId, by.generation)
          : [...read(lease).runs.values()].findLast((run) =>
              "runId" in by ? run.runId === by.runId : run.messageId === by.messageId,
            ),
      blobs: async (member, ids) =>
        new Map(
          ids.flatMap((id) => {
            const data = this.#blobs.get(`${member}\n${id}`);
            return data ? [[id, data] as const] : [];
          }),
        ),
      hasBlobs: async (member, ids) => new Set(ids.filter((id) => this.#blobs.has(`${member}\n${id}`))),
      bind: async (member, requestId, conversationId) => this.#bind(member, requestId, conversationId),
      nextGeneration: async (member, requestId) => {
        const binding = this.#bindings.get(`${member}\n${requestId}`);
        if (!binding) throw new StoreError("unbound", "the request id is not bound");
        return ++binding.generation;
      },
      binding: async (member, requestId) => {
        const binding = this.#bindings.get(`${member}\n${requestId}`);
        return binding && { ...binding };
      },
      parentOf: async (member, requestId, callId) => {
        const binding = this.#bindings.get(`${member}\n${requestId}`);
        const call = binding && this.#conversations.get(binding.conversationId)?.calls.get(callId);
        return (
          call && {
            parentConversationId: binding.conversationId,
            parentRunId: call.runId,
            parentToolCallId: call.callId,
          }
        );
      },
      overdue: async (nowMs, limit) =>
        [...this.#conversations.values()]
          .filter(({ owner, deadline }) => !(owner !== undefined && this.lives(owner)) && deadline <= nowMs)
          .toSorted((a, b) => a.deadline - b.deadline)
          .slice(0, limit)
          .map(({ id, member }) => ({ conversationId: id, member })),
      inspect: async (id) => this.#conversations.get(id)?.view(),
    };
  }

  #activate(
    node: NodeId,
    id: ConversationId,
    member: MemberId,
    { create, parent }: Parameters<ConversationStore["activate"]>[2],
  ): ActivationResult {
    const known = this.#conversations.get(id);
    if (known ? known.member !== member : !create) return { kind: "notFound" };
    const found = known ?? new MemoryConversation(id, member, parent);
    if (found.owner !== undefined && found.owner !== node && this.lives(found.owner))
      return { kind: "elsewhere", node: found.owner };
    this.#conversations.set(id, found);
    found.owner = node;
    found.fence++;
    const activation: Activation = {
      lease: { conversationId: id, member, fence: found.fence },
      created: !known,
      chart: found.chart && structuredClone(found.chart),
      head: found.head,
      parent: found.parent,
      runs: found.activationRuns(),
      inbox: [...found.inbox.values()],
    };
    return { kind: "active", activation };
  }

  #commit(node: NodeId, lease: Lease, barrier: Barrier): CommitResult {
    const found = this.#conversations.get(lease.conversationId);
    if (!found || found.owner !== node || found.fence !== lease.fence) return { kind: "fenced" };
    if ((barrier.inboxPut ?? []).some(({ key }) => key.includes("\0")))
      throw new StoreError("rejected", "the database refused");
    const before = [...found.runs.values()];
    const owned = (row: RunRow): boolean => (this.#runOwners.get(row.runId) ?? found.id) === found.id;
    const opened = (barrier.runsOpened ?? []).filter(owned);
    for (const { runId } of opened) this.#runOwners.set(runId, found.id);
    for (const { id, data } of barrier.blobs ?? []) {
      const key = `${found.member}\n${id}`;
      if (!this.#blobs.has(key)) this.#blobs.set(key, data);
    }
    const inbox = found.apply({ ...barrier, runsOpened: opened });
    this.onCommit?.(found, barrier, before);
    return { kind: "committed", inbox };
  }

  #bind(
    member: MemberId,
    requestId: RequestId,
    conversationId: ConversationId,
  ): Awaited<ReturnType<ConversationStore["bind"]>> {
    const key = `${member}\n${requestId}`;
    const binding = this.#bindings.get(key) ?? { conversationId, generation: 1 };
    this.#bindings.set(key, binding);
    return binding.conversationId === conversationId
      ? { kind: "bound", generation: binding.generation }
      : { kind: "conflict" };
  }
}

function messagesOf(
  { nodes, messages }: MemoryConversation,
  head: CheckpointId,
  after: CheckpointId | undefined,
): readonly CanonicalMessage[] {
  if (head === after) return [];
  const listed: (readonly string[])[] = [];
  for (let at: CheckpointId | undefined = head; at !== after;) {
    const node: CheckpointNode | undefined = at === undefined ? undefined : nodes.get(at);
    if (!node) throw new StoreError("brokenChain", "the checkpoint chain does not lead there");
    listed.push(node.added);
    at = node.parent;
  }
  return listed
    .toReversed()
    .flat()
    .map((id) => {
      const message = messages.get(id);
      if (!message) throw new StoreError("brokenChain", "a message that the checkpoint chain lists is not stored");
      return message;
    });
}
