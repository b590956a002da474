import type { CheckpointId, ModelMessage } from "@chartroom/domain";
import { EMPTY_VIEW, encodeCheckpoint, isOn, project, readState } from "@chartroom/history";
import type { Captured, Listener } from "./play.ts";
import { type Server, SYSTEM } from "./server.ts";

/** A broken property; the message says which and where. */
export class Broken extends Error {}

function demand(holds: boolean, what: string | (() => string)): asserts holds {
  if (!holds) throw new Broken(typeof what === "string" ? what : what());
}

/**
 * The prefix rule: the request of each model call begins with that of the last call below it on the branch, in structure and
 * in bytes, unless a compaction lies between.
 */
export function prefixRule(): Listener {
  const calls = new Map<Server, Map<CheckpointId, Captured>>();
  return {
    modelCall(call) {
      const own = calls.get(call.server) ?? new Map<CheckpointId, Captured>();
      calls.set(call.server, own);
      const before = callBelow(call.server, call.head, own);
      if (before !== undefined) demandPrefix(before, call);
      own.set(call.head, call);
    },
    takenOver(from, to) {
      // the new server goes on from the last call of the old one
      const below = callBelow(from, from.view.head, calls.get(from) ?? new Map<CheckpointId, Captured>());
      if (below !== undefined && to.view.head !== undefined) calls.set(to, new Map([[to.view.head, below]]));
    },
  };
}

function callBelow(
  server: Server,
  head: CheckpointId | undefined,
  own: ReadonlyMap<CheckpointId, Captured>,
): Captured | undefined {
  for (let at = head; at !== undefined;) {
    const node = server.chain.nodes.get(at);
    const call = own.get(at);
    if (call !== undefined) return call;
    if (node?.compaction !== undefined) return undefined;
    at = node?.parent;
  }
  return undefined;
}

function demandPrefix(before: Captured, now: Captured): void {
  const head = before.json.slice(0, -1);
  const longer = now.messages.messages.length > before.messages.messages.length || now.json === before.json;
  demand(now.json.startsWith(head), () => `bytes: ${firstDifference(before.json, now.json)}`);
  demand(now.json === before.json || now.json[head.length] === ",", "bytes: the next message does not follow");
  demand(longer, "structure: the request did not grow");
}

export function firstDifference(before: string, now: string): string {
  let at = 0;
  while (at < before.length && before[at] === now[at]) at += 1;
  return `…${before.slice(Math.max(0, at - 60), at + 60)} | ${now.slice(Math.max(0, at - 10), at + 60)}`;
}

/** A turn is never dropped: whoever goes on goes on from where the conversation stood, lost checkpoints or not. */
export function nothingDropped(): Listener {
  return {
    wentOn: (server, head) =>
      demand(isOn(server.chain, server.view.head, head), "the conversation did not go on from its head"),
  };
}

/** What every provider demands of a request. */
export function validRequests(): Listener {
  return {
    modelCall({ messages, server, json }) {
      const list = messages.messages;
      const last = list.at(-1);
      demand(list[0]?.role === "user", "the first message is the user's");
      demand(last !== undefined && last.role !== "assistant", "the last message is not the assistant's");
      const ids = new Set<string>();
      for (const [at, message] of list.entries()) {
        if (message.role === "assistant") demandAssistant(message, list[at + 1], ids);
        if (message.role === "user")
          demand(message.parts.length > 0 && message.parts.every(filled), "user parts are filled");
        if (message.role === "tool") demand(list[at - 1]?.role === "assistant", "results follow their calls");
      }
      // now and then, because it costs a projection from the beginning
      if (list.length % 4 !== 0) return;
      const own = project(server.view.messages, {
        vendor: "here",
        supportsImages: true,
        image: (id) => server.blob(id),
      });
      demand(JSON.stringify(own.messages) === json, "the projector gives what project gives");
    },
  };
}

function demandAssistant(
  message: Extract<ModelMessage, { role: "assistant" }>,
  next: ModelMessage | undefined,
  ids: Set<string>,
): void {
  demand(message.blocks.length + message.calls.length > 0, "an assistant message says something");
  demand(message.calls.length > 0 || message.blocks.some((block) => block.type === "text"), "not only thinking");
  for (const call of message.calls) {
    demand(!ids.has(call.id), `call id ${call.id} is used once`);
    ids.add(call.id);
    const value: unknown = JSON.parse(call.arguments);
    demand(typeof value === "object" && value !== null && !Array.isArray(value), "arguments are an object");
  }
  if (message.calls.length === 0) return;
  demand(next?.role === "tool", "results follow at once");
  const wanted = message.calls.map((call) => call.id).toSorted();
  const got = next.results.map((result) => result.callId).toSorted();
  demand(JSON.stringify(wanted) === JSON.stringify(got), "each call has one result");
}

function filled(part: { readonly type: string; readonly text?: string }): boolean {
  return part.type !== "text" || part.text?.trim() !== "";
}

/** Five retries with another context and another clock: the rows of the turn stand, byte for byte. */
export function retriesStand(): Listener {
  return {
    retried: (before, after) =>
      demand(before === after, () => `a retry changed the turn: ${firstDifference(before, after)}`),
  };
}

/** States only grow, and encode → decode → encode is a fixed point that gives the same provider bytes. */
export function checkpoints(): Listener {
  let last:
    | { readonly server: Server; readonly state: Uint8Array; readonly head: CheckpointId | undefined }
    | undefined;
  return {
    checkpoint(server, state, rewritten) {
      const now = outlineOf(state);
      if (last?.server === server && !rewritten && below(server, last.head)) {
        const before = outlineOf(last.state);
        demand(
          before.roots.slice(1).every((id, at) => id === now.roots[at + 1]),
          "a root prompt message changed",
        );
        demand(
          before.turns.slice(0, -1).every((id, at) => id === now.turns[at]),
          "a turn that was over changed",
        );
        demand(now.turns.length >= before.turns.length, "turns were lost");
      }
      last = { server, state, head: server.view.head };
      for (const id of [...now.roots, ...now.turns])
        demand(server.blob(id) !== undefined, "a state names a blob that nobody has");
    },
    takenOver(from, to) {
      const here = from.project(from.view.messages);
      const there = to.project(to.view.messages);
      const [a, b] = [JSON.stringify(here.messages), JSON.stringify(there.messages)];
      demand(a === b, () => `another server sends other bytes: ${firstDifference(a, b)}`);
      const kept = encodeCheckpoint({
        system: SYSTEM,
        view: to.view,
        previous: to.state!,
        blob: (id) => to.blob(id),
        mode: "agent",
      });
      demand(
        kept.ok && Buffer.from(kept.state).equals(Buffer.from(to.state!)),
        "encode, decode, encode is no fixed point",
      );
      const anew = encodeCheckpoint({
        system: SYSTEM,
        view: { ...EMPTY_VIEW, messages: to.view.messages },
        blob: (id) => to.blob(id),
        mode: "agent",
      });
      demand(anew.ok, "encoded from nothing");
      demand(
        JSON.stringify(outlineOf(anew.state).roots) === JSON.stringify(outlineOf(to.state!).roots),
        "the same messages give other root prompt messages",
      );
    },
  };
}

function below(server: Server, head: CheckpointId | undefined): boolean {
  for (let at = server.view.head; at !== undefined; at = server.chain.nodes.get(at)?.parent)
    if (at === head) return true;
  return false;
}

function outlineOf(state: Uint8Array) {
  const read = readState(state);
  if (!read.ok) throw new Broken("malformed");
  return read.outline;
}

/** All properties in one listener. */
export function together(...listeners: readonly Listener[]): Required<Listener> {
  return {
    modelCall: (call) => listeners.forEach((listener) => listener.modelCall?.(call)),
    wentOn: (server, head) => listeners.forEach((listener) => listener.wentOn?.(server, head)),
    retried: (before, after) => listeners.forEach((listener) => listener.retried?.(before, after)),
    checkpoint: (server, state, rewritten) =>
      listeners.forEach((listener) => listener.checkpoint?.(server, state, rewritten)),
    takenOver: (from, to) => listeners.forEach((listener) => listener.takenOver?.(from, to)),
  };
}
