import { appendResults } from "@chartroom/history";
import type { ToolCallRow } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { compiledOf } from "../history/compile.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { ToolBoard } from "./tool-board.ts";

/** The board of a Step's calls; each committed result moves the head. */
export function openBoard(activation: Activation, run: LiveRun, rows: readonly ToolCallRow[]): ToolBoard {
  const { clock, codec, settings, tools, events } = activation.deps;
  const append = activation.streamAppend(run);
  const board = new ToolBoard(
    {
      now: () => clock.now(),
      setTimeout: (fn, ms) => clock.setTimeout(fn, ms),
      clearTimeout: (timer) => clock.clearTimeout(timer),
      stream: () => (run.attached?.attached ? run.attached : undefined),
      appendUpdate: (frame) => activation.append(run, "update", frame),
      sendExec: (stream, place, encode) => stream.issueExec(place, encode, append),
      sendQuery: (stream, place, encode) => stream.issueQuery(place, encode, append),
      abortExec: (stream, place) => stream.abortExec(place, codec, append),
      commit: async (settled) => {
        const done = await activation.commit(() => ({
          ...activation.history.append(
            appendResults(
              activation.history.place(run.row.runId),
              settled.map(({ result }) => result),
            ),
          ),
          callsSettled: settled.map(({ callId, result }) => ({ callId, result })),
          blobs: settled.flatMap(({ blobs }) => blobs),
        }));
        for (const { callId, result } of settled) {
          const at = run.calls.findIndex((row) => row.callId === callId);
          const row = run.calls[at];
          if (row) run.calls[at] = { ...row, status: "settled", result };
        }
        return done !== undefined;
      },
      toolSettled: (call, result, durationMs) =>
        events({
          type: "tool.settled",
          conversationId: activation.conversationId,
          runId: run.row.runId,
          tool: call.name,
          error: result.isError,
          durationMs,
        }),
    },
    settings.callMs,
  );
  run.calls.push(...rows);
  const { scope } = compiledOf(run);
  for (const row of rows) board.add(row.record, tools.execute(scope, row.record, row.modelCallId), row.deadline);
  return board;
}
