import type { LifecycleEvent, StateValue } from "@chartroom/domain";

/** A transition as people read it. */
export interface TimelineRow {
  /** ISO 8601. */
  readonly at: string;
  readonly fence: number;
  readonly seq: number;
  readonly runId: string | null;
  readonly event: string;
  /** The event's own fields: ids, enums, counts. */
  readonly detail: Readonly<Record<string, string | number | boolean | null>>;
  readonly from: string;
  readonly to: string;
}

export function timeline(journal: readonly LifecycleEvent[]): readonly TimelineRow[] {
  return journal.map(({ at, fence, seq, runId, event, from, to }) => ({
    at: new Date(at).toISOString(),
    fence,
    seq,
    runId,
    event: event.type,
    detail: detailOf(event),
    from: stateText(from),
    to: stateText(to),
  }));
}

/** A state value as a path: `waitingTools.dispatching.watching`. */
export function stateText(value: StateValue): string {
  if (typeof value === "string") return value;
  return Object.entries(value)
    .map(([key, inner]) => `${key}.${stateText(inner)}`)
    .join(", ");
}

/** The Run is a column of its own; contexts and inputs are not for reading. */
function detailOf({ type: _type, runId: _runId, ...rest }: LifecycleEvent["event"]): TimelineRow["detail"] {
  const plain = Object.entries(rest).filter(
    (entry): entry is [string, string | number | boolean | null] => entry[1] === null || typeof entry[1] !== "object",
  );
  return Object.fromEntries(plain);
}
