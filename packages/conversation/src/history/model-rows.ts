import type { Barrier } from "@chartroom/domain";
import type { LiveRun } from "../activation/live-run.ts";

/** The model calls of a Run that are not in the store yet, and what its trace is to say of them. */
export function modelRows(run: LiveRun): Barrier {
  const attributes = run.trace;
  run.trace = {};
  const { runId, traceId } = run.row;
  return {
    modelCalls: run.modelCalls.splice(0),
    ...(Object.keys(attributes).length > 0 ? { trace: { traceId, runId, attributes } } : {}),
  };
}
