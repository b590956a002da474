import type { PortCall } from "./port.ts";
import { openBoard } from "../open-board.ts";

/** Carries the open calls out until each has a committed result; ends with its state. */
export async function dispatchTools({ activation, run, step, signal, send }: PortCall): Promise<void> {
  const { runId } = run.row;
  // after a restart the calls that the store knows as open begin anew, with their old ids
  if (!run.board) {
    const rows = await activation.deps.store.toolCalls(activation.lease, runId);
    run.board = openBoard(
      activation,
      run,
      rows.filter((row) => row.status === "open" && row.step === step),
    );
  }
  const { board } = run;
  signal.addEventListener("abort", () => {
    board.onCommitted = undefined;
    board.onRenewed = undefined;
  });
  board.onCommitted = (callId) =>
    send({ type: "tool.settled", runId, callId, open: board.open, callDeadline: board.deadline });
  board.onRenewed = () => send({ type: "tool.renewed", runId, callDeadline: board.deadline });
  if (board.open === 0) return send({ type: "tool.settled", runId, callId: "", open: 0, callDeadline: 0 });
  for (const call of board.openCalls) board.begin(call.id);
}

/** Closes the calls whose deadline has passed; then the watch goes on for those that are left. */
export async function expireCalls({ run, send }: PortCall): Promise<void> {
  const { board } = run;
  board?.interruptOverdue();
  await board?.flushed();
  if (board && board.open > 0) send({ type: "tool.renewed", runId: run.row.runId, callDeadline: board.deadline });
}
