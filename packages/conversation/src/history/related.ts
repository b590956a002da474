import type { Barrier, HistoryRelation } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** Tells where a Run's client stands among what is stored, and gives the row that its trace says it with. */
export function related({ deps, conversationId }: Activation, { row }: LiveRun, relation: HistoryRelation): Barrier {
  const { runId, traceId } = row;
  deps.events({ type: "history.related", conversationId, runId, relation });
  return { trace: { traceId, runId, attributes: { "history.relation": relation } } };
}
