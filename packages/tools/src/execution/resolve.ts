import type { CallResolution, ToolCallRecord, ToolResultRecord } from "@chartroom/domain";
import { agent, fromBinary } from "../wire.ts";
import type { ToolProgram } from "./program.ts";
import { buildResult } from "./result.ts";

/**
 * The last result that a client gives for a shell call which it stopped itself (`InterruptedPendingToolCallResolution`,
 * wire section 10): taken like the answer to the exec. `undefined`: it has none for this program, or none that can be read.
 */
export function resolveCall(
  record: ToolCallRecord,
  program: ToolProgram,
  resolution: CallResolution,
): ToolResultRecord | undefined {
  try {
    const wire = fromBinary(agent.InterruptedPendingToolCallResolutionSchema, resolution.wire);
    if (wire.resolution.case !== "shellResult" || wire.resolution.value.result.case === undefined) return undefined;
    const step = program.answer("shell", wire.resolution, 0);
    return step.kind === "done" ? buildResult(record, step.outcome).result : undefined;
  } catch {
    return undefined;
  }
}
