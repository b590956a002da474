import type { Barrier, CheckpointNode, PersistedChart, RunRow, RunStatus, ToolCallRow } from "@chartroom/domain";

export type RunChange = NonNullable<Barrier["runsChanged"]>[number];

const RANK: Readonly<Record<RunStatus, number>> = {
  waiting: 0,
  running: 1,
  completed: 2,
  cancelled: 2,
  failed: 2,
  superseded: 2,
};

/** Whether a Run may go from one status to another: never backwards, and an outcome stays. */
export function statusAllows(from: RunStatus, to: RunStatus | undefined): boolean {
  return to === undefined || to === from || RANK[to] > RANK[from];
}

/** A change applied to a Run, by the rules that the database applies to a stored one. */
export function changeRun(row: RunRow, change: RunChange): RunRow {
  if (!statusAllows(row.status, change.status)) return row;
  const { parkDeadline, failureCode, endedAt, delivered, ...rest } = { ...row, ...change };
  const ended = RANK[row.status] === 2;
  const code = ended ? row.failureCode : failureCode;
  const end = ended ? (row.endedAt ?? endedAt) : endedAt;
  return {
    ...rest,
    delivered: row.delivered || delivered,
    ...(parkDeadline ? { parkDeadline } : {}),
    ...(code === undefined ? {} : { failureCode: code }),
    ...(end === undefined ? {} : { endedAt: end }),
  };
}

/** What a barrier does to tool calls that exist. */
export interface CallChange {
  readonly callId: ToolCallRow["callId"];
  readonly deadline?: number;
  readonly result?: NonNullable<ToolCallRow["result"]>;
}

/**
 * A barrier with at most one write per row. All its rows are written by one statement, in which a row that the statement
 * makes cannot be changed by it, nor one row changed twice; so what a barrier says of one row is joined here.
 */
export interface FoldedBarrier extends Omit<
  Barrier,
  "runsOpened" | "runsChanged" | "callsSettled" | "callDeadlines" | "inboxTaken" | "inboxDropped"
> {
  readonly runsOpened: readonly RunRow[];
  readonly runsChanged: readonly RunChange[];
  readonly callsOpened: readonly ToolCallRow[];
  readonly callsChanged: readonly CallChange[];
  readonly checkpoints: readonly CheckpointNode[];
  readonly inboxPut: NonNullable<Barrier["inboxPut"]>;
  readonly inboxLeft: readonly { readonly seq: number; readonly state: "taken" | "dropped" }[];
  /** Epoch ms; null: the chart waits for nothing. Set exactly when `chart` is. */
  readonly deadline: number | null;
}

export function foldBarrier(barrier: Barrier): FoldedBarrier {
  const runsChanged = foldRunChanges(barrier.runsChanged ?? []);
  const callsChanged = foldCallChanges(barrier);
  const delivered = new Set(barrier.checkpointDelivered);
  const checkpoints = foldCheckpoints(barrier.checkpoints ?? [], delivered);
  const made = new Set(checkpoints.map((one) => one.id));
  return {
    ...barrier,
    runsOpened: first(barrier.runsOpened ?? [], (row) => row.runId).map((row) => {
      const change = runsChanged.get(row.runId);
      return change === undefined ? row : changeRun(row, change);
    }),
    runsChanged: [...runsChanged.values()],
    callsOpened: first(barrier.callsOpened ?? [], (row) => row.callId).map((row) => openCall(row, callsChanged)),
    callsChanged: [...callsChanged.values()],
    checkpoints,
    checkpointDelivered: [...delivered].filter((id) => !made.has(id)),
    inboxPut: first(barrier.inboxPut ?? [], (row) => row.key),
    inboxLeft: first(
      [
        ...(barrier.inboxTaken ?? []).map((seq) => ({ seq, state: "taken" as const })),
        ...(barrier.inboxDropped ?? []).map((seq) => ({ seq, state: "dropped" as const })),
      ],
      (row) => row.seq,
    ),
    deadline: barrier.chart === undefined ? null : deadlineOf(barrier.chart),
  };
}

/** The earliest moment at which a stored chart wants to be looked at; null: none. */
export function deadlineOf(chart: PersistedChart): number | null {
  const set = [chart.context.callDeadline, chart.context.parkDeadline].filter((at) => at > 0);
  return set.length === 0 ? null : Math.min(...set);
}

function first<T>(rows: readonly T[], key: (row: T) => unknown): readonly T[] {
  const seen = new Set<unknown>();
  return rows.filter((row) => {
    const name = key(row);
    return !seen.has(name) && seen.add(name);
  });
}

function foldRunChanges(changes: readonly RunChange[]): Map<RunRow["runId"], RunChange> {
  const folded = new Map<RunRow["runId"], RunChange>();
  for (const change of changes) {
    const before = folded.get(change.runId);
    if (before?.status !== undefined && !statusAllows(before.status, change.status)) continue;
    folded.set(change.runId, { ...before, ...change });
  }
  return folded;
}

function foldCallChanges(barrier: Barrier): Map<ToolCallRow["callId"], CallChange> {
  const folded = new Map<ToolCallRow["callId"], CallChange>();
  for (const { callId, deadline } of barrier.callDeadlines ?? []) folded.set(callId, { callId, deadline });
  for (const { callId, result } of barrier.callsSettled ?? []) {
    const before = folded.get(callId);
    if (before?.result === undefined) folded.set(callId, { ...before, callId, result });
  }
  return folded;
}

function openCall(row: ToolCallRow, changes: ReadonlyMap<ToolCallRow["callId"], CallChange>): ToolCallRow {
  const change = changes.get(row.callId);
  if (change === undefined || row.status === "settled") return row;
  return { ...row, ...change, status: change.result === undefined ? "open" : "settled" };
}

function foldCheckpoints(nodes: readonly CheckpointNode[], delivered: ReadonlySet<string>): readonly CheckpointNode[] {
  const folded = new Map<CheckpointNode["id"], CheckpointNode>();
  for (const node of nodes) {
    const before = folded.get(node.id);
    const wireState = before?.wireState ?? node.wireState;
    folded.set(node.id, {
      ...(before ?? node),
      ...(wireState === undefined ? {} : { wireState }),
      delivered: node.delivered || before?.delivered === true || delivered.has(node.id),
    });
  }
  return [...folded.values()];
}
