import type {
  Barrier,
  CanonicalMessage,
  CheckpointId,
  CheckpointNode,
  InboxRow,
  InputAnchor,
  LifecycleEvent,
  PersistedChart,
  RunRow,
  ToolCallRow,
} from "@chartroom/domain";

/** What a conversation holds, said in plain data: the contract of a barrier, written apart from the store. */
export class ConversationModel {
  chart: PersistedChart | undefined;
  head: CheckpointId | undefined;
  readonly messages = new Map<string, CanonicalMessage>();
  readonly nodes = new Map<string, CheckpointNode>();
  readonly anchors: InputAnchor[] = [];
  readonly runs: RunRow[] = [];
  readonly calls: ToolCallRow[] = [];
  readonly waiting: InboxRow[] = [];
  readonly #keys = new Set<string>();
  readonly blobs = new Map<string, Uint8Array>();
  readonly journal: LifecycleEvent[] = [];

  /** `seqs`: the numbers that the store gave to the inbox's keys. */
  apply(barrier: Barrier, seqs: ReadonlyMap<string, number>): void {
    this.chart = barrier.chart ?? this.chart;
    this.head = barrier.head ?? this.head;
    for (const message of barrier.messages ?? [])
      if (!this.messages.has(message.id)) this.messages.set(message.id, message);
    for (const node of barrier.checkpoints ?? []) this.#node(node);
    for (const id of barrier.checkpointDelivered ?? []) {
      const node = this.nodes.get(id);
      if (node) this.nodes.set(id, { ...node, delivered: true });
    }
    for (const anchor of barrier.anchors ?? []) {
      const same = (one: InputAnchor): boolean =>
        one.inputId === anchor.inputId && one.event === anchor.event && one.base === anchor.base;
      if (!this.anchors.some(same)) this.anchors.push(anchor);
    }
    for (const run of barrier.runsOpened ?? [])
      if (!this.runs.some((one) => one.runId === run.runId)) this.runs.push(run);
    for (const change of barrier.runsChanged ?? []) this.#run(change);
    for (const call of barrier.callsOpened ?? []) {
      if (!this.calls.some((one) => one.callId === call.callId)) this.calls.push(call);
    }
    for (const { callId, deadline } of barrier.callDeadlines ?? []) this.#call(callId, { deadline });
    for (const { callId, result } of barrier.callsSettled ?? []) this.#call(callId, { status: "settled", result });
    for (const put of barrier.inboxPut ?? []) {
      if (this.#keys.has(put.key)) continue;
      this.#keys.add(put.key);
      this.waiting.push({ ...put, seq: seqs.get(put.key)!, state: "waiting" });
    }
    const left = new Set([...(barrier.inboxTaken ?? []), ...(barrier.inboxDropped ?? [])]);
    this.waiting.splice(0, Infinity, ...this.waiting.filter(({ seq }) => !left.has(seq)));
    for (const { id, data } of barrier.blobs ?? []) if (!this.blobs.has(id)) this.blobs.set(id, data);
    this.journal.push(...(barrier.journal ?? []));
  }

  #node(node: CheckpointNode): void {
    const before = this.nodes.get(node.id);
    if (before === undefined) return void this.nodes.set(node.id, node);
    const wireState = before.wireState ?? node.wireState;
    const delivered = before.delivered || node.delivered;
    this.nodes.set(node.id, { ...before, delivered, ...(wireState === undefined ? {} : { wireState }) });
  }

  #run(change: NonNullable<Barrier["runsChanged"]>[number]): void {
    const at = this.runs.findIndex((one) => one.runId === change.runId);
    const before = this.runs[at];
    if (before === undefined) return;
    const order = ["waiting", "running", "ended"];
    const place = (status: RunRow["status"]): number => (order.includes(status) ? order.indexOf(status) : 2);
    const ended = place(before.status) === 2;
    if (change.status !== undefined && change.status !== before.status && place(change.status) <= place(before.status))
      return;
    const after: Record<string, unknown> = {
      ...before,
      ...change,
      delivered: before.delivered || change.delivered === true,
    };
    if (change.parkDeadline === 0) delete after["parkDeadline"];
    if (change.partial === null) delete after["partial"];
    if (ended) {
      for (const name of ["failureCode", "endedAt"] as const) {
        if (name === "endedAt" && before.endedAt === undefined) continue;
        if (before[name] === undefined) delete after[name];
        else after[name] = before[name];
      }
    }
    this.runs[at] = after as unknown as RunRow;
  }

  #call(callId: string, change: Partial<ToolCallRow>): void {
    const at = this.calls.findIndex((one) => one.callId === callId);
    const before = this.calls[at];
    if (before?.status === "open") this.calls[at] = { ...before, ...change };
  }

  /** The Runs that an activation gives. */
  get activationRuns(): RunRow[] {
    const open = this.runs.filter(({ status }) => status === "waiting" || status === "running");
    const ended = this.runs
      .filter((run) => !open.includes(run))
      .toSorted((a, b) => (b.endedAt ?? -1) - (a.endedAt ?? -1) || this.runs.indexOf(b) - this.runs.indexOf(a));
    const since = Math.min(...open.map(({ acceptedAt }) => acceptedAt));
    return [...open, ...ended.filter((run, at) => at === 0 || (run.endedAt ?? -1) >= since)];
  }

  /** Messages from the root to a node; `undefined` when one of them is missing. */
  chain(head: string): CanonicalMessage[] | undefined {
    const nodes: CheckpointNode[] = [];
    for (let at: string | undefined = head; at !== undefined; at = nodes.at(-1)!.parent) {
      const node = this.nodes.get(at);
      if (node === undefined) return undefined;
      nodes.push(node);
    }
    const listed = nodes.toReversed().flatMap(({ added }) => added.map((id) => this.messages.get(id)));
    return listed.every((one) => one !== undefined) ? listed : undefined;
  }
}
