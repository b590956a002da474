import { ensureCompiled } from "../history/compile.ts";
import type { PortCall } from "./port.ts";
import { whenAttached } from "../streams/attachment.ts";
import { openBoard } from "../steps/open-board.ts";

/** Carries the open calls out until each has a committed result; ends with its state. */
export async function dispatchTools({ activation, run, step, signal, send }: PortCall): Promise<void> {
  const { runId } = run.row;
  if (!run.board) await reopen(activation, run, step, signal);
  if (signal.aborted || !run.board) return;
  const { board } = run;
  signal.addEventListener("abort", () => {
    board.onCommitted = undefined;
    board.onRenewed = undefined;
  });
  board.onCommitted = (callId) =>
    send({ type: "tool.settled", runId, callId, open: board.open, callDeadline: board.deadline });
  board.onRenewed = () => send({ type: "tool.renewed", runId, callDeadline: board.deadline });
  if (board.open === 0) return send({ type: "tool.settled", runId, callId: "", open: 0, callDeadline: 0 });
  board.beginAll();
}

/** After a restart the calls that the store knows as open begin anew, with their old ids, once a client is there. */
async function reopen(
  activation: PortCall["activation"],
  run: PortCall["run"],
  step: number,
  signal: AbortSignal,
): Promise<void> {
  const rows = await activation.deps.store.toolCalls(activation.lease, run.row.runId);
  await whenAttached(run, signal);
  if (signal.aborted || !(await ensureCompiled(activation, run, signal))) return;
  run.board = openBoard(
    activation,
    run,
    rows.filter((row) => row.status === "open" && row.step === step),
  );
}

/** Closes the calls whose deadline has passed; then the watch goes on for those that are left. */
export async function expireCalls({ activation, run, send }: PortCall): Promise<void> {
  const { board } = run;
  board?.interruptOverdue();
  await board?.flushed();
  // calls of a restored Run wait for a client first; its park deadline is the bound
  const callDeadline = board ? board.deadline : activation.deps.clock.now() + activation.deps.settings.callMs;
  if (!board || board.open > 0) send({ type: "tool.renewed", runId: run.row.runId, callDeadline });
}
