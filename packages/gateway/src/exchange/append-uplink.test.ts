import type { Clock, Conversations, Generation, MemberId, Receipt, RequestId, TeamId } from "@chartroom/domain";
import { agent, create, decodeUplink, type MessageInitShape, toBinary } from "@chartroom/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { FAILURES } from "../failures.ts";
import { GATEWAY_LIMITS } from "../limits.ts";
import { AppendUplink, type Append } from "./append-uplink.ts";
import { Exchange } from "./exchange.ts";

/**
 * Every order in which the appends of a short sequence can arrive, against the words of the lifecycle specification (section 2):
 * out of order: held, answered when applied, at most 60 s; duplicates: answered as the first time, applied once; a heartbeat is
 * answered at once and its number counts as received. The expectation is computed from the set of numbers that have come, not
 * from anything that the sequencer remembers. What RunSSE adds stands in `test/wire/append-orders.test.ts`, over sockets.
 */

const HOLD_MS = 60_000;
type Kind = "run" | "other" | "heartbeat";
interface Message {
  readonly seqno: number;
  readonly kind: Kind;
}

/** A clock that the test moves. */
class TestClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly fn: () => void }>();
  now(): number {
    return this.#now;
  }
  setTimeout(fn: () => void, ms: number): object {
    const timer = { at: this.#now + ms, fn };
    this.#timers.add(timer);
    return timer;
  }
  clearTimeout(timer: object | number): void {
    this.#timers.delete(timer as never);
  }
  get pending(): number {
    return this.#timers.size;
  }
  moveTo(ms: number): void {
    this.#now = ms;
    for (const timer of this.#timers)
      if (timer.at <= ms) {
        this.#timers.delete(timer);
        timer.fn();
      }
  }
}

/** What reached the conversation: the opening, and the numbers of the others. */
class Log {
  readonly applied: (string | number)[] = [];
  readonly conversations = {
    binding: () => Promise.resolve(undefined),
    submit: ({ message }: { message: { kind: string } }) => {
      this.applied.push(message.kind);
      return Promise.resolve({ kind: "run", conversationId: "c", runId: "r" } as Receipt);
    },
    kv: (_generation: Generation, reply: { kvId: number }) => {
      this.applied.push(reply.kvId);
      return Promise.resolve({ kind: "acknowledged", conversationId: "c" } as Receipt);
    },
  } as unknown as Conversations;
}

const encode = (message: NonNullable<MessageInitShape<typeof agent.AgentClientMessageSchema>["message"]>): Append => {
  const bytes = toBinary(agent.AgentClientMessageSchema, create(agent.AgentClientMessageSchema, { message }));
  const decoded = decodeUplink(bytes);
  if (!decoded.ok) throw new Error("the test's message cannot be read");
  return { seqno: 0, message: decoded.value, headers: { ghostMode: false }, size: bytes.byteLength, digest: "opening" };
};
const RUN = encode({
  case: "runRequest",
  value: {
    conversationId: "c",
    conversationState: {},
    requestedModel: { modelId: "m" },
    action: { action: { case: "userMessageAction", value: { userMessage: { messageId: "m-1", text: "hi" } } } },
  },
});
const HEARTBEAT = encode({ case: "clientHeartbeat", value: {} });
const KV = Array.from({ length: 8 }, (_, id) =>
  encode({ case: "kvClientMessage", value: { id, message: { case: "setBlobResult", value: {} } } }),
);

/** An uplink with what came and what was answered: `undefined` is 200. */
class Played {
  readonly clock = new TestClock();
  readonly log = new Log();
  readonly answers: { readonly message: Message; readonly atMs: number; answer?: unknown; answeredMs?: number }[] = [];
  readonly uplink: AppendUplink;

  constructor() {
    const ports = {
      conversations: this.log.conversations,
      clock: this.clock,
      entropy: { uuid: () => "", random: () => 0.5 },
      limits: GATEWAY_LIMITS,
      heartbeat: new Uint8Array(),
      turnEnded: new Uint8Array(),
      events: () => undefined,
      draining: () => false,
      report: (cause: unknown) => {
        throw cause;
      },
    };
    const principal = { member: "ann" as MemberId, team: "team" as TeamId, roles: ["member"] } as const;
    this.uplink = new AppendUplink(new Exchange(principal, "req" as RequestId, ports, false), ports);
  }

  async arrive(message: Message): Promise<void> {
    const { seqno, kind } = message;
    const append = kind === "run" ? RUN : kind === "heartbeat" ? HEARTBEAT : KV[seqno]!;
    const entry: (typeof this.answers)[number] = { message, atMs: this.clock.now() };
    this.answers.push(entry);
    void this.uplink.take({ ...append, seqno }).then((answer) => {
      entry.answer = answer;
      entry.answeredMs = this.clock.now();
    });
    await settled();
  }

  /** Nothing waits, and when the bound of what has waited has passed there is no timer any more. */
  leavesNothing(): void {
    this.clock.moveTo(this.clock.now() + HOLD_MS);
    if (!this.uplink.idle || this.clock.pending > 0) expect.fail(`${this.clock.pending} timers are left`);
  }

  /** What must have been applied, and who must have an answer, once these have come. */
  check(start: number): void {
    const came = this.answers.map(({ message }) => message);
    let next = came.some(({ kind }) => kind === "run") ? start : -1;
    const applied: (string | number)[] = [];
    while (next >= 0) {
      const one = came.find(({ seqno }) => seqno === next);
      if (!one) break;
      if (one.kind !== "heartbeat") applied.push(one.kind === "run" ? "run" : one.seqno);
      next++;
    }
    const order = came.map(({ seqno, kind }) => `${kind} ${seqno}`).join(", ");
    if (JSON.stringify(this.log.applied) !== JSON.stringify(applied))
      expect.fail(`after ${order}: applied ${this.log.applied.join(" ")} instead of ${applied.join(" ")}`);
    for (const { message, answer, answeredMs } of this.answers) {
      const due = message.kind === "heartbeat" || message.seqno < next;
      if ((answeredMs !== undefined) !== due || answer !== undefined)
        expect.fail(`after ${order}: ${message.kind} ${message.seqno} ${due ? "has no answer 200" : "was answered"}`);
    }
  }
}

/** All that can happen without time: everything here is a promise away. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}

/** All sequences of so many messages: a Run request, then any mix of heartbeats and others. */
function sequences(length: number, start: number): readonly (readonly Message[])[] {
  return Array.from({ length: 2 ** (length - 1) }, (_, bits) =>
    Array.from({ length }, (__, index): Message => {
      const kind: Kind = index === 0 ? "run" : ((bits >> (index - 1)) & 1) === 1 ? "heartbeat" : "other";
      return { seqno: start + index, kind };
    }),
  );
}

const orders = (length: number, start: number): readonly (readonly Message[])[] =>
  sequences(length, start).flatMap((sequence) => permutations(sequence));

// the first one pays for what is compiled
beforeAll(() => new Played().arrive({ seqno: 0, kind: "run" }));

describe.each([0, 1])("appends from number %i", (start) => {
  it.each([1, 2, 3, 4, 5])(
    "every permutation of every sequence of %i: answered and applied when it is its turn",
    async (length) => {
      for (const order of orders(length, start)) {
        const played = new Played();
        for (const message of order) {
          await played.arrive(message);
          played.check(start);
        }
        expect(played.answers.every(({ answeredMs }) => answeredMs !== undefined)).toBe(true);
        played.leavesNothing();
      }
    },
  );

  it.each([1, 2, 3, 4, 5])(
    "every permutation of every sequence of %i, each message once more at every later place: applied once",
    async (length) => {
      for (const order of orders(length, start))
        for (const [index, message] of order.entries())
          for (let place = index + 1; place <= length; place++) {
            const played = new Played();
            for (const each of order.toSpliced(place, 0, message)) {
              await played.arrive(each);
              played.check(start);
            }
            played.leavesNothing();
            expect(played.log.applied).toHaveLength(order.filter(({ kind }) => kind !== "heartbeat").length);
          }
    },
  );

  it("every permutation of five messages, each of which comes twice in a row", async () => {
    for (const order of permutations(sequences(5, start)[0]!)) {
      const played = new Played();
      for (const message of order.flatMap((each) => [each, each])) {
        await played.arrive(message);
        played.check(start);
      }
      expect(played.log.applied).toHaveLength(5);
    }
  });

  it.each([2, 3, 4, 5])(
    "every permutation of every sequence of %i with a number that does not come: what is behind it waits 60 s, not a moment longer, and can come again",
    async (length) => {
      for (const sequence of sequences(length, start))
        for (const missing of sequence)
          for (const order of permutations(sequence.filter((message) => message !== missing))) {
            const played = new Played();
            for (const [index, message] of order.entries()) {
              played.clock.moveTo(index * 10);
              await played.arrive(message);
              played.check(start);
            }
            const held = played.answers.filter(({ answeredMs }) => answeredMs === undefined);
            const behind = order.filter(({ seqno, kind }) => seqno > missing.seqno && kind !== "heartbeat");
            expect(held.map(({ message }) => message)).toEqual(behind);
            for (const entry of held) {
              played.clock.moveTo(entry.atMs + HOLD_MS - 1);
              await settled();
              expect(entry.answeredMs).toBeUndefined();
              played.clock.moveTo(entry.atMs + HOLD_MS);
              await settled();
              expect([entry.answeredMs, entry.answer]).toEqual([entry.atMs + HOLD_MS, FAILURES.gapExpired]);
            }
            played.leavesNothing();
            // the missing one comes at last, and the others again
            played.answers.splice(0, played.answers.length, ...played.answers.filter((entry) => !held.includes(entry)));
            for (const message of [missing, ...behind]) {
              await played.arrive(message);
              played.check(start);
            }
            expect(played.log.applied).toHaveLength(sequence.filter(({ kind }) => kind !== "heartbeat").length);
          }
    },
  );
});
