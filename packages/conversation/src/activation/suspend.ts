import type { Activation } from "./activation.ts";
import { encodeHead, publishCheckpoint } from "../streams/checkpoint-publisher.ts";
import { failure } from "../failures.ts";
import type { LiveRun } from "./live-run.ts";

/** How long a client gets to acknowledge the checkpoint of a server that goes away. */
const PUBLISH_MS = 2_000;

/** Takes a conversation out of memory in the middle of its Run: what was shown is stored, the client gets a checkpoint and a retryable end, and any node can go on. */
export async function suspend(activation: Activation): Promise<void> {
  const { store } = activation.deps;
  const run = activation.phase === "active" ? activation.currentRun : undefined;
  if (run) await keep(activation, run);
  for (const live of activation.runs.values())
    if (!live.ended) live.attached?.terminal({ kind: "error", failure: failure("DRAINING") });
  await activation.written();
  activation.abort.abort();
  activation.actor.stop();
  await store.release(activation.lease).catch(() => undefined);
}

async function keep(activation: Activation, run: LiveRun): Promise<void> {
  const { clock } = activation.deps;
  const partial = run.shown?.();
  const head = await encodeHead(activation, run);
  const done = await activation.commit(() => ({
    ...head,
    ...(partial && partial.blocks.length > 0 ? { runsChanged: [{ runId: run.row.runId, partial }] } : {}),
  }));
  if (!done || !run.attached) return;
  await Promise.race([
    publishCheckpoint(activation, run),
    new Promise((resolve) => clock.setTimeout(() => resolve(false), PUBLISH_MS)),
  ]);
}
