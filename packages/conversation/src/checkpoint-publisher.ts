import {
  type Chain,
  encodeCheckpoint,
  pathTo,
  plainContract,
  readState,
  referencedBlobs,
  tokenDetails,
  type EncodeInput,
} from "@chartroom/history";
import type { Barrier, BlobId, CheckpointId } from "@chartroom/domain";
import type { Activation } from "./activation.ts";
import type { ClientStream, StreamAppend } from "./client-stream.ts";
import { compiledOf } from "./compile.ts";
import type { LiveRun } from "./live-run.ts";

/** The head as a wire checkpoint; its rows belong into the barrier that commits it. */
export async function encodeHead(activation: Activation, run: LiveRun): Promise<Barrier> {
  const { wire, history } = activation;
  const { view, chain } = history;
  const node = view.head === undefined ? undefined : chain.nodes.get(view.head);
  if (!node || !run.compiled) return {};
  const before = wire.state ?? newestState(chain, node.id);
  let result = encodeCheckpoint(inputOf(activation, run, before, false));
  for (let round = 0; !result.ok && result.kind === "missing" && round < 2; round++) {
    const found = await activation.deps.store.blobs(activation.member, result.blobs);
    for (const [id, data] of found) wire.blobs.set(id, data);
    result = encodeCheckpoint(inputOf(activation, run, before, round > 0));
  }
  if (!result.ok) return {};
  if (wire.head === undefined) await lackAll(activation, result.state);
  wire.state = result.state;
  wire.head = node.id;
  history.keepState(node.id, result.state);
  for (const blob of result.blobs) {
    wire.blobs.set(blob.id, blob.data);
    if (!wire.held.has(blob.id)) wire.lacking.set(blob.id, blob.data);
  }
  return { checkpoints: [{ ...node, wireState: result.state }], blobs: result.blobs };
}

/** The state of the nearest checkpoint at or below a node. */
function newestState(chain: Chain, head: CheckpointId): Uint8Array | undefined {
  return pathTo(chain, head).findLast((node) => node.wireState !== undefined)?.wireState;
}

/** The first state of an activation: all that it names and the client is not known to hold. */
export async function lackAll(activation: Activation, state: Uint8Array): Promise<void> {
  const { wire, deps, member } = activation;
  const read = readState(state);
  if (!read.ok) return;
  const named = referencedBlobs(read.outline, (id) => wire.blobs.get(id)).filter((id) => !wire.held.has(id));
  const unread = named.filter((id) => !wire.blobs.has(id));
  const stored = unread.length > 0 ? await deps.store.blobs(member, unread) : new Map<BlobId, Uint8Array>();
  for (const id of named) {
    const data = wire.blobs.get(id) ?? stored.get(id);
    if (data) wire.lacking.set(id, data);
  }
}

function inputOf(
  activation: Activation,
  run: LiveRun,
  previous: Uint8Array | undefined,
  without: boolean,
): EncodeInput {
  const { wire, history } = activation;
  const { scope, system, tools, model } = compiledOf(run);
  const { inputTokens, outputTokens, cacheReadTokens } = run.lastUsage;
  const measured = inputTokens === undefined ? undefined : inputTokens + (cacheReadTokens ?? 0) + (outputTokens ?? 0);
  return {
    system,
    view: history.view,
    blob: (id) => wire.blobs.get(id),
    mode: scope.mode,
    userMessages: run.userMessages,
    requestId: run.row.requestId,
    pending: { startedAtMs: run.stepStartedAt, contract: (name) => contractOf(activation, run, name) },
    tokens: tokenDetails({
      system,
      tools,
      dynamicTools: new Set(scope.offers.map((offer) => offer.name)),
      messages: history.view.messages,
      window: model.contextWindow,
      ...(measured === undefined ? {} : { measured }),
    }),
    without,
    ...(previous ? { previous } : {}),
  };
}

function contractOf(activation: Activation, run: LiveRun, toolName: string): ReturnType<typeof plainContract> {
  const { scope } = compiledOf(run);
  const { toolIdentifier, dynamic } = activation.deps.tools.identifier(scope, toolName);
  return { ...plainContract(toolName), toolIdentifier, isDynamic: dynamic };
}

/**
 * Publishes the newest checkpoint on the attached stream: its blobs first, then, when they are acknowledged, the update.
 * One after the other; never delays a delta or a dispatch. `false`: no transport, or an acknowledgement did not come.
 */
export function publishCheckpoint(activation: Activation, run: LiveRun): Promise<boolean> {
  const { wire } = activation;
  const { state, head } = wire;
  if (!state || !head) return Promise.resolve(false);
  const done = wire.tail.then(() => publish(activation, run, state, head));
  wire.tail = done.catch(() => undefined);
  return done;
}

async function publish(activation: Activation, run: LiveRun, state: Uint8Array, head: CheckpointId): Promise<boolean> {
  const stream = run.attached;
  if (!stream?.attached) return false;
  stream.offered = head;
  if (!(await giveBlobs(activation, stream, activation.streamAppend(run))) || !stream.attached) return false;
  activation.append(run, "checkpoint", activation.deps.codec.checkpoint(state), { checkpoint: head });
  activation.delivered(head);
  return true;
}

/** Writes the blobs that the client lacks; `false`: not all were acknowledged within the bound. Later acknowledgements count for the next time. */
export async function giveBlobs(activation: Activation, stream: ClientStream, append: StreamAppend): Promise<boolean> {
  const { wire, deps } = activation;
  const { clock, settings, codec } = deps;
  const given = Promise.all(
    [...wire.lacking].map(async ([id, data]) => {
      const taken = await stream.setBlob(id, data, codec, append);
      if (taken) wire.hold(id);
      return taken;
    }),
  ).then((taken) => !taken.includes(false));
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = clock.setTimeout(() => resolve(false), settings.ackMs);
  const acknowledged = await Promise.race([given, late]);
  clock.clearTimeout(timer);
  return acknowledged;
}
