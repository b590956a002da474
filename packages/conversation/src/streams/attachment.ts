import type { Downlink, Generation, HistoryId, ReplayFrom } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import type { ClientStream } from "./client-stream.ts";
import { failure } from "../failures.ts";
import type { LiveRun } from "../activation/live-run.ts";
import { messagesUpTo, plainScope, rebuildMessages } from "./rebuild.ts";

/** Attaches a downlink to a Run, at once: a claim unless the Run is just opening. The one that was attached is closed. */
export function attachDownlink(
  activation: Activation,
  run: LiveRun,
  generation: Generation,
  downlink: Downlink,
  from: ReplayFrom,
): void {
  const { runId } = run.row;
  const stream = activation.stream(generation, run);
  if (stream.downlink === downlink) return;
  if (!activation.speaks()) return downlink.drop();
  const before = run.attached;
  if (before?.downlink) {
    before.downlink.end({ kind: "error", failure: failure("REPLACED") });
    before.leave();
  }
  stream.take(downlink);
  run.attached = stream;
  for (const resume of run.arrivals) resume();
  run.arrivals.clear();
  downlink.onLost(() => lose(activation, run, stream, downlink));
  const child = activation.childOf(runId);
  const claims = child !== undefined && child.getSnapshot().value !== "opening";
  child?.send({ type: claims ? "claim" : "transport.attached" });
  if (activation.currentRun === run) subscribeStream(activation, run, stream, from);
  const { conversationId, deps } = activation;
  deps.events({ type: claims ? "run.claimed" : "run.attached", conversationId, runId });
  if (!claims) return;
  run.board?.reissue();
  child?.send({ type: "replay.finished" });
}

/** Gives the Run's output to its attached stream; what the ring no longer has comes from the store. */
export function subscribeStream(activation: Activation, run: LiveRun, stream: ClientStream, from: ReplayFrom): void {
  const { log } = activation.deps;
  const seen = messagesUpTo(activation, from.kind === "checkpoint" ? from.checkpoint : undefined);
  // the ring of a restored Run begins at the restart
  if (from.kind === "runStart")
    for (const { id, frames } of run.earlier) if (!seen.has(id)) for (const frame of frames) stream.writeDirect(frame);
  let subscription = log.subscribe(activation.conversationId, run.row.runId, from, stream);
  if (subscription === "gone") {
    rebuild(activation, run, stream, seen);
    if (from.kind !== "checkpoint" || from.checkpoint !== activation.history.view.head)
      giveDelivered(activation, stream);
    for (const block of run.shown?.().blocks ?? [])
      stream.writeDirect(activation.deps.codec.update({ kind: block.type, text: block.text }));
    subscription = log.subscribe(activation.conversationId, run.row.runId, { kind: "live" }, stream);
  }
  if (typeof subscription === "string") return;
  if (stream.attached) stream.subscription = subscription;
  else subscription.close();
}

/** All of the Run that is committed. */
function rebuild(activation: Activation, run: LiveRun, stream: ClientStream, seen: ReadonlySet<HistoryId>): void {
  const { runId } = run.row;
  const own = activation.history.view.messages.filter((message) => message.runId === runId && !seen.has(message.id));
  const scope = run.compiled?.scope ?? plainScope(activation, runId);
  for (const { frames } of rebuildMessages(activation, own, run.calls, scope, run.restored))
    for (const frame of frames) stream.writeDirect(frame);
}

/** A head that was delivered to an earlier transport: it is not published again, and the client has its blobs. */
function giveDelivered({ history, deps }: Activation, stream: ClientStream): void {
  const { head } = history.view;
  const node = head && history.chain.nodes.get(head);
  if (!node?.delivered || !node.wireState) return;
  stream.offered = node.id;
  stream.writeDirect(deps.codec.checkpoint(node.wireState));
}

/** Losing a transport changes no outcome: the Run is parked. */
function lose(activation: Activation, run: LiveRun, stream: ClientStream, downlink: Downlink): void {
  if (stream.downlink !== downlink) return;
  stream.leave();
  if (run.attached === stream) run.attached = undefined;
  const { clock, settings, events } = activation.deps;
  events({ type: "run.parked", conversationId: activation.conversationId, runId: stream.runId });
  const atMs = clock.now();
  activation
    .childOf(stream.runId)
    ?.send({ type: "transport.lost", atMs, parkDeadline: atMs + settings.parkedRunTtlMs });
}

/** Resolves when a transport is attached to the Run, or the caller gives up. */
export function whenAttached(run: LiveRun, signal: AbortSignal): Promise<void> {
  if (run.attached?.attached || signal.aborted) return Promise.resolve();
  return new Promise((resume) => {
    run.arrivals.add(resume);
    signal.addEventListener("abort", () => {
      run.arrivals.delete(resume);
      resume();
    });
  });
}

/** Writes the heartbeats that the Run's child chart asks for. Once per Run, after the chart has taken it. */
export function watchHeartbeats(activation: Activation, run: LiveRun): void {
  const heartbeat = activation.deps.codec.update({ kind: "heartbeat" });
  activation.childOf(run.row.runId)?.on("heartbeat", () => run.attached?.writeDirect(heartbeat));
}
