import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  append,
  type Downstream,
  execResult,
  heartbeat,
  kvResult,
  runRequest,
  runSse,
} from "../support/gateway/agent-client.ts";
import { type Harness, startGateway } from "../support/gateway/harness.ts";
import type { Peer, Reply } from "../support/gateway/peer.ts";
import { advancing, settle, until } from "../support/gateway/until.ts";
import { permutations } from "../support/permutations.ts";

/**
 * The orders of `packages/gateway/src/exchange/append-uplink.test.ts` over sockets, with RunSSE at every place among the appends:
 * all of a short sequence, and a sample of longer ones with repeats and gaps.
 */

let harness: Harness;
let peer: Peer;
beforeEach(async () => {
  harness = await startGateway();
  peer = harness.peer("h2c");
  // appends may overtake each other only once the connection stands
  await append(peer, "warm", 0, heartbeat);
});
afterEach(() => harness.close());

type Kind = "run" | "kv" | "exec" | "heartbeat";
interface Message {
  readonly seqno: number;
  readonly kind: Kind;
}
const bytesOf = ({ seqno, kind }: Message): Uint8Array => {
  if (kind === "run") return runRequest({ messageId: "m-1" });
  if (kind === "heartbeat") return heartbeat;
  return kind === "kv" ? kvResult(seqno) : execResult(seqno);
};

/** What reached the conversation under a request id: openings and attachments by name, the others with their number. */
function reached(requestId: string): readonly string[] {
  return harness.conversations.calls.flatMap((call) => {
    const generation = call.kind === "submit" ? call.envelope.generation : call.generation;
    if (generation.streamId !== `${requestId}#1`) return [];
    if (call.kind === "kv") return [`kv ${call.reply.kvId}`];
    if (call.kind === "exec") return [`exec ${call.reply.execId}`];
    return [call.kind === "submit" ? call.envelope.message.kind : call.kind];
  });
}
const applied = (requestId: string): readonly string[] => reached(requestId).filter((what) => what !== "attach");
const inOrder = (messages: readonly Message[]): readonly string[] =>
  messages
    .filter(({ kind }) => kind !== "heartbeat")
    .toSorted((a, b) => a.seqno - b.seqno)
    .map(({ seqno, kind }) => (kind === "run" ? "run" : `${kind} ${seqno}`));

/** A step of an order: an append, or the downlink. */
type Step = Message | "RunSSE";

/** Sends in this order; each is with the server before the next one. */
async function send(
  requestId: string,
  steps: readonly Step[],
): Promise<{ readonly replies: readonly Promise<Reply>[]; readonly down: Downstream | undefined }> {
  const replies: Promise<Reply>[] = [];
  let down: Downstream | undefined;
  for (const step of steps) {
    if (step === "RunSSE") down = runSse(peer, requestId);
    else {
      const reply = append(peer, requestId, step.seqno, bytesOf(step));
      reply.catch(() => undefined);
      replies.push(reply);
    }
    await settle(4);
  }
  return { replies, down };
}

describe.each([0, 1])("appends from number %i", (start) => {
  const sequence = (["run", "kv", "heartbeat", "exec"] as const).map((kind, index) => ({ seqno: start + index, kind }));

  it("in every order (TR-01), RunSSE before, between and behind them: all are answered 200 without a body, the Run gets its downlink once", async () => {
    let round = 0;
    for (const order of permutations<Step>([...sequence, "RunSSE"])) {
      const requestId = `req-${round++}`;
      const { replies, down } = await send(requestId, order);
      for (const { status, body } of await Promise.all(replies)) expect([status, body.byteLength]).toEqual([200, 0]);
      await until(() => harness.conversations.attached(`${requestId}#1`), `the downlink of ${JSON.stringify(order)}`);
      expect(applied(requestId), JSON.stringify(order)).toEqual(inOrder(sequence));
      expect(reached(requestId).filter((what) => what === "attach")).toHaveLength(1);
      harness.conversations.end(`${requestId}#1`);
      expect(await down?.over()).toEqual({ kind: "completed" });
    }
  });

  it("longer ones, shuffled, some twice: each is answered 200 and applied once, in order", async () => {
    let round = 0;
    const kinds = fc.array(fc.constantFrom<Kind>("kv", "exec", "heartbeat"), { minLength: 4, maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(kinds, fc.infiniteStream(fc.nat()), async (rest, random) => {
        const requestId = `long-${round++}`;
        const messages = (["run", ...rest] as const).map((kind, index) => ({ seqno: start + index, kind }));
        const draw = (): number => random.next().value;
        const steps = [...messages, ...messages.filter(() => draw() % 3 === 0)]
          .map((message) => ({ message, at: draw() }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ message }) => message);
        const { replies } = await send(requestId, steps);
        for (const { status, body } of await Promise.all(replies)) expect([status, body.byteLength]).toEqual([200, 0]);
        expect(applied(requestId)).toEqual(inOrder(messages));
      }),
      { numRuns: 40, seed: 1 },
    );
  });

  it.each(["run", "kv", "heartbeat"] as const)(
    "in every order without its %s: what is behind the gap is failed after 60 s and reaches nobody, what is before it is answered",
    async (gap) => {
      let round = 0;
      const missing = sequence.find(({ kind }) => kind === gap);
      for (const order of permutations(sequence.filter((message) => message !== missing))) {
        const requestId = `gap-${round++}`;
        const begun = harness.clock.now();
        const { replies } = await send(requestId, order);
        const answers = await advancing(harness.clock, Promise.all(replies), 10_000);
        const held = order.map(({ seqno, kind }) => kind !== "heartbeat" && seqno > (missing?.seqno ?? 0));
        expect(answers.map(({ status }) => status)).toEqual(held.map((waits) => (waits ? 504 : 200)));
        expect(harness.clock.now() - begun).toBeGreaterThanOrEqual(60_000);
        expect(applied(requestId)).toEqual(inOrder(order.filter((_, index) => held[index] === false)));
      }
    },
  );
});
