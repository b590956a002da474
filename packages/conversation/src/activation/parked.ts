import type { MemberId } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import type { LiveRun } from "./live-run.ts";
import type { StreamTable } from "../streams/stream-table.ts";

/** The Run that has been parked longest makes room; `false`: none is parked. */
export function evictOldest(streams: StreamTable, member?: MemberId): boolean {
  const oldest = streams.oldestParked(member);
  if (!oldest) return false;
  oldest.run.release();
  oldest.activation.childOf(oldest.run.row.runId)?.send({ type: "evict" });
  return true;
}

/** A new time to live counts from when the Run was parked, not from now. */
export function rearm(activation: Activation, run: LiveRun, ttlMs: number, formerTtlMs: number): void {
  const child = activation.childOf(run.row.runId);
  const snapshot = child?.getSnapshot();
  if (snapshot?.value !== "parked") return;
  const { parkedAt, parkDeadline } = snapshot.context;
  // a restored Run knows its deadline only
  const since = parkedAt > 0 ? parkedAt : parkDeadline - formerTtlMs;
  child?.send({ type: "settings.changed", parkDeadline: since + ttlMs });
}
