import { decodeCheckpoint, resultsFor } from "@chartroom/history";
import type { Action, RunRequest } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { LiveRun } from "../activation/live-run.ts";

/**
 * The last results that the client gives for calls which it aborted itself settle them before anything else happens to the
 * Run: at once, so that what the command does comes before a next Step. Resolves when they are committed.
 */
export function settleResolutions({ deps, currentRun }: Activation, action: Action): Promise<void> {
  if (!currentRun?.board || !currentRun.compiled || !("resolutions" in action)) return Promise.resolve();
  const { board, compiled } = currentRun;
  for (const resolution of action.resolutions) {
    const call = board.openCalls.find((open) => open.id === resolution.callId);
    const result = call && deps.tools.resolve(compiled.scope, call, resolution);
    if (call && result) board.accept(call.id, result);
  }
  return board.flushed();
}

/** Results that a resuming client has put into its state settle their open calls; those calls are not issued again. */
export async function settleFromState(activation: Activation, run: LiveRun, request: RunRequest): Promise<void> {
  const { board } = run;
  const { wire, deps, member } = activation;
  if (!board || board.openCalls.length === 0 || request.state.length === 0) return;
  for (const blob of request.prefetched) wire.blobs.set(blob.id, blob.data);
  let decoded = decodeCheckpoint(request.state, (id) => wire.blobs.get(id));
  if (!decoded.ok && decoded.kind === "missing") {
    for (const [id, data] of await deps.store.blobs(member, decoded.blobs)) wire.blobs.set(id, data);
    decoded = decodeCheckpoint(request.state, (id) => wire.blobs.get(id));
  }
  // a blob that only the client holds: the call is issued again, and the client answers from what it has
  if (!decoded.ok) return;
  const results = decoded.value.messages.findLastIndex((message) => message.role !== "tool");
  for (const result of resultsFor(board.openCalls, decoded.value.messages.slice(results + 1)))
    board.accept(result.callId, result);
  await board.flushed();
}
