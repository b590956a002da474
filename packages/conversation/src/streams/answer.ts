import type { Downlink, RunId, RunRow } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { type Given, giveBlobs } from "./blob-giver.ts";
import { recallHead } from "./checkpoint-publisher.ts";
import type { ClientStream } from "./client-stream.ts";
import { failure, terminalOf } from "../failures.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { plainScope, rebuildMessages } from "./rebuild.ts";

/**
 * Answers an ended Run to a transport that comes after it: from the log where that holds all of it, else from the store:
 * committed text and tool cards, the checkpoint with the blobs that the client lacks, `turn_ended`, the terminal
 * (lifecycle spec, section 6). `state`: what the client brought, serialized.
 */
export async function answerFromStore(
  activation: Activation,
  runId: RunId,
  stream: ClientStream,
  downlink: Downlink,
  state: Uint8Array = new Uint8Array(),
): Promise<void> {
  if (!activation.speaks()) return downlink.drop();
  const { store, codec } = activation.deps;
  if (stream.attached) stream.downlink?.end({ kind: "error", failure: failure("REPLACED") });
  stream.leave();
  stream.take(downlink);
  downlink.onLost(() => stream.leave());
  const live = activation.runs.get(runId);
  const row = live?.row ?? (await store.run(activation.lease, { runId }));
  if (!row) return downlink.end({ kind: "error", failure: failure("NOT_FOUND") });
  await activation.loadHistory();
  if (!activation.speaks()) return stream.drop();
  if (live && isComplete(activation, live) && replay(activation, live, stream)) return;
  const calls = await store.toolCalls(activation.lease, runId);
  const own = activation.history.view.messages.filter((message) => message.runId === runId);
  for (const { frames } of rebuildMessages(activation, own, calls, plainScope(activation, runId)))
    for (const frame of frames) stream.writeDirect(frame);
  const head = await giveHead(activation, row, stream, state);
  if (!stream.attached) return;
  if (!activation.speaks()) return stream.drop();
  // all of it comes with the next retry
  if (head === "unread") return stream.terminal({ kind: "error", failure: failure("STORE_UNAVAILABLE") });
  if (row.status === "completed") stream.writeDirect(codec.update({ kind: "turnEnded", usage: {} }));
  if (!row.delivered) {
    if (live) live.row = { ...live.row, delivered: true };
    activation.beside(
      "delivered",
      activation.commit(() => ({ runsChanged: [{ runId, delivered: true }] })),
    );
  }
  const ended = row.status !== "waiting" && row.status !== "running";
  stream.terminal(
    terminalOf({ kind: ended ? row.status : "failed", code: row.failureCode ?? null }, live?.failureDetail),
  );
}

/** The log holds all of the Run, its last checkpoint and its end included, and the client has every blob of that checkpoint. */
function isComplete({ history }: Activation, { row, restored, continued, logged }: LiveRun): boolean {
  if (restored || continued) return false;
  const final = row.finalHead && history.chain.nodes.get(row.finalHead);
  return !final || (final.delivered && (logged === final.id || history.view.head !== final.id));
}

function replay(activation: Activation, { row }: LiveRun, stream: ClientStream): boolean {
  const { conversationId, deps } = activation;
  const subscription = deps.log.subscribe(conversationId, row.runId, { kind: "runStart" }, stream);
  if (typeof subscription === "string") return false;
  stream.subscription = subscription;
  return true;
}

/** The Run's last checkpoint, while it is the head: its blobs first, then, when they are acknowledged, the update. */
async function giveHead(
  activation: Activation,
  row: RunRow,
  stream: ClientStream,
  brought: Uint8Array,
): Promise<Given> {
  const { history, deps } = activation;
  const node = row.finalHead && history.chain.nodes.get(row.finalHead);
  if (!node?.wireState || history.view.head !== node.id) return "given";
  if (!node.delivered) {
    await recallHead(activation, brought);
    const given = await giveBlobs(activation, stream);
    if (given !== "given") return given;
  }
  stream.writeDirect(deps.codec.checkpoint(node.wireState));
  if (!node.delivered) activation.delivered(node.id);
  return "given";
}
