import {
  encodeCheckpoint,
  pathTo,
  plainContract,
  readState,
  tokenDetails,
  turnBlobs,
  type EncodeInput,
} from "@chartroom/history";
import type { Barrier, CheckpointId } from "@chartroom/domain";
import type { Activation } from "../activation/activation.ts";
import { giveBlobs, lackAll } from "./blob-giver.ts";
import { compiledOf } from "../history/compile.ts";
import type { LiveRun } from "../activation/live-run.ts";

/** The head as a wire checkpoint; its rows belong into the barrier that commits it. */
export async function encodeHead(activation: Activation, run: LiveRun): Promise<Barrier> {
  const { wire, history } = activation;
  const { view, chain } = history;
  const node = view.head === undefined ? undefined : chain.nodes.get(view.head);
  if (!node || !run.compiled) return {};
  // a Run that goes on from an older node, and has added nothing to it: the client is given what was made of it then
  const made =
    wire.head === node.id ? undefined : await history.stateOf(activation.deps.store, activation.lease, node.id);
  if (made) {
    await lackAll(activation, made);
    wire.state = made;
    wire.head = node.id;
    history.keepState(node.id, made);
    return {};
  }
  const before = wire.state ?? newestState(activation);
  let result = encodeCheckpoint(inputOf(activation, run, before, false));
  for (let round = 0; !result.ok && result.kind === "missing" && round < 2; round++) {
    const found = await activation.deps.store.blobs(activation.member, result.blobs);
    for (const [id, data] of found) wire.blobs.set(id, data);
    result = encodeCheckpoint(inputOf(activation, run, before, round > 0));
  }
  if (!result.ok) return {};
  for (const { id, data } of result.blobs) wire.make(id, data);
  // behind what was just made: what a new turn names of older ones is found in it
  if (wire.head === undefined) await lackAll(activation, result.state);
  wire.state = result.state;
  wire.head = node.id;
  history.keepState(node.id, result.state);
  wire.trim(turnBlobs(result.lastTurn, (id) => wire.blobs.get(id)));
  return { checkpoints: [{ ...node, wireState: result.state }], blobs: result.blobs };
}

/** The state of the nearest checkpoint at or below the head. */
export function newestState({ history: { chain, view } }: Activation): Uint8Array | undefined {
  return pathTo(chain, view.head).findLast((node) => node.wireState !== undefined)?.wireState;
}

function inputOf(
  activation: Activation,
  run: LiveRun,
  previous: Uint8Array | undefined,
  without: boolean,
): EncodeInput {
  const { wire, history } = activation;
  const { scope, system, tools, model } = compiledOf(run);
  const measured = activation.window.measured(history.view);
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
      window: activation.window.windowOf(model),
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
export async function publishCheckpoint(activation: Activation, run: LiveRun): Promise<boolean> {
  const { wire } = activation;
  if (wire.head === undefined) await recallHead(activation, run.request.state);
  const { state, head } = wire;
  if (!state || !head) return false;
  const done = wire.tail.then(() => publish(activation, run, state, head));
  wire.tail = done.catch(() => undefined);
  return done;
}

/**
 * An activation that has made no state yet takes up the stored one of its head. `brought`: a state of the client,
 * serialized; what it names, the client has.
 */
export async function recallHead(activation: Activation, brought: Uint8Array): Promise<void> {
  const { wire, history } = activation;
  const read = readState(brought);
  if (read.ok) for (const id of [...read.outline.roots, ...read.outline.turns]) wire.hold(id);
  const { head } = history.view;
  const state = head && history.chain.nodes.get(head)?.wireState;
  if (wire.head !== undefined || !head || !state) return;
  await lackAll(activation, state);
  // one that was made meanwhile is newer
  wire.state ??= state;
  wire.head ??= head;
}

async function publish(activation: Activation, run: LiveRun, state: Uint8Array, head: CheckpointId): Promise<boolean> {
  const stream = run.attached;
  if (!stream?.attached) return false;
  stream.offered = head;
  if ((await giveBlobs(activation, stream)) !== "given" || !stream.attached) return false;
  activation.wire.given = state;
  activation.append(run, "checkpoint", activation.deps.codec.checkpoint(state), { checkpoint: head });
  run.logged = head;
  activation.delivered(head, stream.roundTripMs);
  return true;
}
