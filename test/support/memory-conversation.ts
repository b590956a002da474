import type {
  Barrier,
  CanonicalMessage,
  CheckpointId,
  CheckpointNode,
  CommitResult,
  ConversationId,
  ConversationView,
  InboxRow,
  InputAnchor,
  LifecycleEvent,
  MemberId,
  ModelCallRow,
  NodeId,
  ParentConversationRef,
  PersistedChart,
  RequestId,
  RunId,
  RunRow,
  RunStatus,
  ToolCallRow,
} from "@chartroom/domain";

type RunChange = NonNullable<Barrier["runsChanged"]>[number];

const rank: Readonly<Record<RunStatus, number>> = {
  waiting: 0,
  running: 1,
  completed: 2,
  cancelled: 2,
  failed: 2,
  superseded: 2,
};
export const hasEnded = ({ status }: Pick<RunRow, "status">): boolean => rank[status] === 2;

/** What one conversation holds, as the store's contract says: rows by key, the first content of a key stands. */
export class MemoryConversation {
  readonly id: ConversationId;
  readonly member: MemberId;
  readonly parent: ParentConversationRef | undefined;
  owner: NodeId | undefined;
  fence = 0;
  chart: PersistedChart | undefined;
  head: CheckpointId | undefined;
  readonly messages = new Map<string, CanonicalMessage>();
  readonly nodes = new Map<CheckpointId, CheckpointNode>();
  readonly anchors: InputAnchor[] = [];
  readonly runs = new Map<string, RunRow>();
  /** Runs by the generations that claimed them. */
  readonly #claims = new Map<string, RunId>();
  readonly calls = new Map<string, ToolCallRow>();
  readonly modelCalls = new Map<string, ModelCallRow>();
  readonly traces = new Map<string, NonNullable<Barrier["trace"]>>();
  /** Rows that wait, by number. */
  readonly inbox = new Map<number, InboxRow>();
  /** Numbers of all keys that were ever put. */
  readonly #keys = new Map<string, number>();
  readonly journal = new Map<string, LifecycleEvent>();

  constructor(id: ConversationId, member: MemberId, parent: ParentConversationRef | undefined) {
    this.id = id;
    this.member = member;
    this.parent = parent;
  }

  /** Writes a barrier that has passed the fence. */
  apply(barrier: Barrier): Extract<CommitResult, { kind: "committed" }>["inbox"] {
    if (barrier.chart) this.chart = structuredClone(barrier.chart);
    this.head = barrier.head ?? this.head;
    for (const message of barrier.messages ?? []) keep(this.messages, message.id, message);
    for (const node of barrier.checkpoints ?? []) this.#node(node);
    for (const id of barrier.checkpointDelivered ?? []) {
      const node = this.nodes.get(id);
      if (node) this.nodes.set(id, { ...node, delivered: true });
    }
    for (const anchor of barrier.anchors ?? []) this.#anchor(anchor);
    for (const run of barrier.runsOpened ?? []) keep(this.runs, run.runId, withoutNull(run));
    for (const change of barrier.runsChanged ?? []) this.#run(change);
    for (const { requestId, generation, runId } of barrier.runsClaimed ?? [])
      keep(this.#claims, `${requestId}\n${generation}`, runId);
    for (const call of barrier.callsOpened ?? []) keep(this.calls, call.callId, call);
    for (const { callId, deadline } of barrier.callDeadlines ?? []) this.#call(callId, { deadline });
    for (const { callId, result } of barrier.callsSettled ?? []) this.#call(callId, { status: "settled", result });
    for (const call of barrier.modelCalls ?? []) keep(this.modelCalls, call.modelCallId, call);
    if (barrier.trace) this.#trace(barrier.trace);
    const placed = (barrier.inboxPut ?? []).map((row) => this.#put(row));
    for (const seq of [...(barrier.inboxTaken ?? []), ...(barrier.inboxDropped ?? [])]) this.inbox.delete(seq);
    for (const row of barrier.journal ?? []) keep(this.journal, `${row.fence} ${row.seq}`, row);
    return placed;
  }

  /** Epoch ms at which the conversation wants to be looked at; never: infinity. */
  get deadline(): number {
    const { callDeadline = 0, parkDeadline = 0 } = this.chart?.context ?? {};
    const runs = [...this.runs.values()].flatMap((run) => (hasEnded(run) ? [] : [run.parkDeadline ?? 0]));
    return Math.min(...[callDeadline, parkDeadline, ...runs].filter((at) => at > 0));
  }

  /** Those that have not ended, oldest first; of the others, newest first, the last to end and those that did so since the oldest of the first was accepted. */
  activationRuns(): readonly RunRow[] {
    const all = [...this.runs.values()];
    const open = all.filter((run) => !hasEnded(run));
    const endOf = ({ endedAt = -1 }: RunRow): number => endedAt;
    const ended = all
      .filter(hasEnded)
      .toReversed()
      .toSorted((a, b) => endOf(b) - endOf(a));
    const since = Math.min(...open.map(({ acceptedAt }) => acceptedAt));
    return [...open, ...ended.filter((run, at) => at === 0 || endOf(run) >= since)];
  }

  view(): ConversationView {
    return {
      conversationId: this.id,
      member: this.member,
      chart: this.chart,
      head: this.head,
      owner: this.owner,
      fence: this.fence,
      parent: this.parent,
      runs: [...this.runs.values()],
      modelCalls: [...this.modelCalls.values()],
      traces: [...this.runs.values()].flatMap(({ traceId }) => this.traces.get(traceId) ?? []),
      journal: [...this.journal.values()].toSorted((a, b) => a.fence - b.fence || a.seq - b.seq),
      messages: this.messages.size,
    };
  }

  /** The newest Run that a generation opened or claimed. */
  runOf(requestId: RequestId, generation: number): RunRow | undefined {
    const claimed = this.#claims.get(`${requestId}\n${generation}`);
    return [...this.runs.values()].findLast(
      (run) => run.runId === claimed || (run.requestId === requestId && run.generation === generation),
    );
  }

  /** The Runs that the generations of a request id claimed; one generation: its own. */
  claimsOf(requestId: RequestId, generation?: number): ReadonlySet<RunId> {
    const own = `${requestId}\n${generation ?? ""}`;
    const claims = [...this.#claims].filter(([key]) => (generation === undefined ? key.startsWith(own) : key === own));
    return new Set(claims.map(([, runId]) => runId));
  }

  /** The newest that have a mark, newest first. */
  markedCalls(limit: number): readonly ModelCallRow[] {
    return [...this.modelCalls.values()]
      .filter(({ mark }) => mark !== undefined)
      .toReversed()
      .slice(0, limit);
  }

  #trace({ traceId, runId, attributes }: NonNullable<Barrier["trace"]>): void {
    this.traces.set(traceId, {
      traceId,
      runId,
      attributes: { ...this.traces.get(traceId)?.attributes, ...attributes },
    });
  }

  #node(node: CheckpointNode): void {
    const before = this.nodes.get(node.id);
    const wireState = before?.wireState ?? node.wireState;
    this.nodes.set(node.id, {
      ...(before ?? node),
      delivered: node.delivered || before?.delivered === true,
      ...(wireState ? { wireState } : {}),
    });
  }

  #anchor(anchor: InputAnchor): void {
    const same = ({ inputId, event, base }: InputAnchor): boolean =>
      inputId === anchor.inputId && event === anchor.event && base === anchor.base;
    if (!this.anchors.some(same)) this.anchors.push(anchor);
  }

  /** A status never goes backwards, and an outcome stays: a change that would is ignored as a whole. */
  #run(change: RunChange): void {
    const before = this.runs.get(change.runId);
    if (!before) return;
    const { status } = change;
    if (status !== undefined && status !== before.status && rank[status] <= rank[before.status]) return;
    const { parkDeadline, failureCode, endedAt, delivered, ...rest } = { ...before, ...change };
    const code = hasEnded(before) ? before.failureCode : failureCode;
    const end = hasEnded(before) ? (before.endedAt ?? endedAt) : endedAt;
    this.runs.set(change.runId, {
      ...withoutNull(rest),
      delivered: before.delivered || delivered,
      ...(parkDeadline ? { parkDeadline } : {}),
      ...(code === undefined ? {} : { failureCode: code }),
      ...(end === undefined ? {} : { endedAt: end }),
    });
  }

  /** The first result wins; the deadline moves only while the call is open. */
  #call(callId: string, change: Partial<ToolCallRow>): void {
    const before = this.calls.get(callId);
    if (before?.status === "open") this.calls.set(callId, { ...before, ...change });
  }

  #put(row: NonNullable<Barrier["inboxPut"]>[number]): { key: string; seq: number; duplicate: boolean } {
    const known = this.#keys.get(row.key);
    if (known !== undefined) return { key: row.key, seq: known, duplicate: true };
    const seq = this.#keys.size + 1;
    this.#keys.set(row.key, seq);
    this.inbox.set(seq, { ...row, seq, state: "waiting" });
    return { key: row.key, seq, duplicate: false };
  }
}

/** What is not shown any more is absent. */
function withoutNull<T extends Pick<RunRow, "partial">>({ partial, ...rest }: T): T {
  return { ...rest, ...(partial ? { partial } : {}) } as T;
}

function keep<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (!map.has(key)) map.set(key, value);
}
