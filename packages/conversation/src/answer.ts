import type { Downlink, RunId } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import { failure, terminalOf } from "./failures.ts";
import { plainScope, rebuildMessages } from "./rebuild.ts";

/** Answers an ended Run from the store: committed text and tool cards as updates, the checkpoint, `turn_ended`, the terminal. */
export async function answerFromStore(activation: Activation, runId: RunId, downlink: Downlink): Promise<void> {
  const { store, codec, log } = activation.deps;
  const live = activation.runs.get(runId);
  const replayed =
    live &&
    log.subscribe(
      activation.conversationId,
      runId,
      { kind: "runStart" },
      {
        streamId: downlink.streamId,
        entry: (entry) => downlink.write(entry.bytes),
        terminal: (terminal) => downlink.end(terminal),
        lagged: () => downlink.end({ kind: "error", failure: failure("REPLACED") }),
      },
    );
  if (replayed && typeof replayed === "object") {
    downlink.onDrain(() => replayed.resume());
    downlink.onLost(() => replayed.close());
    return;
  }
  const row = live?.row ?? (await store.run(activation.lease, { runId }));
  if (!row) return downlink.end({ kind: "error", failure: failure("NOT_FOUND") });
  await activation.loadHistory();
  const calls = await store.toolCalls(activation.lease, runId);
  const own = activation.history.view.messages.filter((message) => message.runId === runId);
  for (const { frames } of rebuildMessages(activation, own, calls, plainScope(activation, runId)))
    for (const frame of frames) downlink.write(frame);
  const head = activation.history.view.head && activation.history.chain.nodes.get(activation.history.view.head);
  if (head?.wireState && row.finalHead === head.id) downlink.write(codec.checkpoint(head.wireState));
  if (row.status === "completed") downlink.write(codec.update({ kind: "turnEnded", usage: {} }));
  if (!row.delivered && !downlink.closed) void activation.commit(() => ({ runsChanged: [{ runId, delivered: true }] }));
  downlink.end(
    terminalOf({
      kind: row.status === "waiting" || row.status === "running" ? "failed" : row.status,
      code: row.failureCode ?? null,
    }),
  );
}
