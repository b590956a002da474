import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { type AppendKind, AppendSequencer, type AppendVerdict, SEQUENCER_LIMITS } from "./append-sequencer.ts";

interface Message {
  readonly seqno: number;
  readonly kind: AppendKind;
}

const offer = (sequencer: AppendSequencer<string>, message: Message, nowMs = 0): AppendVerdict<string> =>
  sequencer.offer({ ...message, size: 1, item: `${message.kind}${message.seqno}` }, nowMs);

const items = (verdict: AppendVerdict<string>): readonly string[] => (verdict.kind === "accepted" ? verdict.items : []);

/** A sequence as a client numbers it: a Run request at `start`, then `kinds`. */
const stream = (start: number, kinds: readonly AppendKind[]): Message[] =>
  (["run", ...kinds] as const).map((kind, index) => ({ seqno: start + index, kind }));

const inOrder = (messages: readonly Message[]): string[] =>
  messages.filter((message) => message.kind !== "heartbeat").map((message) => `${message.kind}${message.seqno}`);

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length <= 1) return [[...list]];
  return list.flatMap((head, index) =>
    permutations([...list.slice(0, index), ...list.slice(index + 1)]).map((tail) => [head, ...tail]),
  );
}

const kindArbitrary = fc.constantFrom<AppendKind>("other", "other", "heartbeat");
const startArbitrary = fc.constantFrom(0, 1);

function ended(): AppendSequencer<string> {
  const sequencer = new AppendSequencer<string>();
  for (const message of stream(1, ["other", "other", "other"])) offer(sequencer, message);
  expect(sequencer.close()).toEqual([]);
  return sequencer;
}

describe("order within a generation", () => {
  it.each([0, 1])("applies every permutation of a short sequence from %i once and in order", (start) => {
    for (const kinds of [
      ["other", "other", "other", "other"],
      ["other", "heartbeat", "other", "heartbeat"],
    ] as const) {
      const messages = stream(start, kinds);
      for (const order of permutations(messages)) {
        const sequencer = new AppendSequencer<string>();
        expect(order.flatMap((message) => items(offer(sequencer, message)))).toEqual(inOrder(messages));
        expect(sequencer.start).toBe(start);
        expect(sequencer.nextDeadline).toBeUndefined();
      }
    }
  });

  it("applies shuffled messages with repeats once and in order", () => {
    fc.assert(
      fc.property(
        startArbitrary,
        fc.array(kindArbitrary, { maxLength: 40 }),
        fc.infiniteStream(fc.nat()),
        (start, kinds, random) => {
          const messages = stream(start, kinds);
          const repeated = messages.flatMap((message) =>
            random.next().value % 3 === 0 ? [message, message] : [message],
          );
          const order = repeated
            .map((message) => ({ message, key: random.next().value }))
            .toSorted((a, b) => a.key - b.key);
          const sequencer = new AppendSequencer<string>();
          const seen = new Set<number>();
          const applied: string[] = [];
          for (const { message } of order) {
            const verdict = offer(sequencer, message);
            applied.push(...items(verdict));
            const possible = seen.has(message.seqno) ? ["duplicate", "opening"] : ["accepted", "held"];
            expect(message.kind === "heartbeat" ? ["accepted", "duplicate"] : possible).toContain(verdict.kind);
            seen.add(message.seqno);
          }
          expect(applied).toEqual(inOrder(messages));
        },
      ),
    );
  });

  it("applies nothing behind a gap, and gives it back after 60 s", () => {
    fc.assert(
      fc.property(
        startArbitrary,
        fc.integer({ min: 2, max: 30 }),
        fc.nat(),
        fc.infiniteStream(fc.nat()),
        (start, length, hole, random) => {
          const messages = stream(
            start,
            Array.from({ length }, () => "other" as const),
          );
          const missing = 1 + (hole % (messages.length - 1));
          const order = messages
            .filter((_, index) => index !== missing)
            .map((message) => ({ message, key: random.next().value }))
            .toSorted((a, b) => a.key - b.key);
          const sequencer = new AppendSequencer<string>();
          const applied = order.flatMap(({ message }, index) => items(offer(sequencer, message, index)));
          expect(applied).toEqual(inOrder(messages.slice(0, missing)));
          const behind = inOrder(messages.slice(missing + 1));
          expect(sequencer.expire(59_999)).toEqual([]);
          expect(sequencer.expire(60_000 + messages.length)).toEqual(behind.map((item) => ({ item, late: false })));
          expect(sequencer.nextDeadline).toBeUndefined();
        },
      ),
    );
  });
});

describe("where a sequence starts", () => {
  it("waits for a large first upload (TR-01)", () => {
    const sequencer = new AppendSequencer<string>();
    expect(offer(sequencer, { seqno: 2, kind: "other" }, 10)).toEqual({ kind: "held" });
    expect(sequencer.nextDeadline).toBe(60_010);
    expect(offer(sequencer, { seqno: 1, kind: "run" }, 20)).toEqual({ kind: "accepted", items: ["run1", "other2"] });
  });

  it("does not take number 1 as the first when it cannot open a stream", () => {
    const sequencer = new AppendSequencer<string>();
    expect(offer(sequencer, { seqno: 1, kind: "other" })).toEqual({ kind: "held" });
    expect(offer(sequencer, { seqno: 0, kind: "run" })).toEqual({ kind: "accepted", items: ["run0", "other1"] });
  });

  it("gives up on a first message that never comes (TR-02)", () => {
    const sequencer = new AppendSequencer<string>();
    offer(sequencer, { seqno: 2, kind: "other" }, 0);
    offer(sequencer, { seqno: 3, kind: "other" }, 5);
    expect(sequencer.expire(60_000)).toEqual([{ item: "other2", late: false }]);
    expect(sequencer.nextDeadline).toBe(60_005);
    expect(sequencer.expire(60_005)).toEqual([{ item: "other3", late: false }]);
    expect(sequencer.nextDeadline).toBeUndefined();
  });

  it("answers a heartbeat while the upload is pending (TR-03)", () => {
    const sequencer = new AppendSequencer<string>();
    offer(sequencer, { seqno: 3, kind: "other" });
    expect(offer(sequencer, { seqno: 2, kind: "heartbeat" })).toEqual({ kind: "accepted", items: [] });
    expect(offer(sequencer, { seqno: 1, kind: "run" })).toEqual({ kind: "accepted", items: ["run1", "other3"] });
  });

  it("starts with a prewarm, and lets a Run request overtake it", () => {
    const ordered = new AppendSequencer<string>();
    expect(offer(ordered, { seqno: 0, kind: "prewarm" })).toEqual({ kind: "accepted", items: ["prewarm0"] });
    expect(offer(ordered, { seqno: 1, kind: "run" })).toEqual({ kind: "accepted", items: ["run1"] });
    const overtaken = new AppendSequencer<string>();
    expect(offer(overtaken, { seqno: 1, kind: "run" })).toEqual({ kind: "accepted", items: ["run1"] });
    expect(offer(overtaken, { seqno: 0, kind: "prewarm" })).toEqual({ kind: "late" });
    expect(offer(overtaken, { seqno: 2, kind: "other" })).toEqual({ kind: "accepted", items: ["other2"] });
  });
});

describe("repeats", () => {
  it("tells whether the first one still waits", () => {
    const sequencer = new AppendSequencer<string>();
    offer(sequencer, { seqno: 0, kind: "run" });
    offer(sequencer, { seqno: 2, kind: "other" });
    expect(offer(sequencer, { seqno: 2, kind: "other" })).toEqual({ kind: "duplicate", held: true });
    offer(sequencer, { seqno: 1, kind: "other" });
    expect(offer(sequencer, { seqno: 2, kind: "other" })).toEqual({ kind: "duplicate", held: false });
    expect(offer(sequencer, { seqno: 1, kind: "heartbeat" })).toEqual({ kind: "duplicate", held: false });
  });

  it("leaves it to the caller whether an opener comes again or opens anew (ID-04, ID-05)", () => {
    const sequencer = new AppendSequencer<string>();
    offer(sequencer, { seqno: 1, kind: "run" });
    offer(sequencer, { seqno: 2, kind: "other" });
    offer(sequencer, { seqno: 4, kind: "other" });
    expect(offer(sequencer, { seqno: 1, kind: "run" })).toEqual({ kind: "opening" });
    expect(offer(sequencer, { seqno: 0, kind: "run" })).toEqual({ kind: "opening" });
    const { successor, late } = sequencer.succeed();
    expect(late).toEqual(["other4"]);
    expect(offer(successor, { seqno: 0, kind: "run" })).toEqual({ kind: "accepted", items: ["run0"] });
    expect(offer(successor, { seqno: 1, kind: "other" })).toEqual({ kind: "accepted", items: ["other1"] });
  });

  it("opens anew over a message that waits for an opener under the same number", () => {
    const sequencer = new AppendSequencer<string>();
    offer(sequencer, { seqno: 1, kind: "other" });
    expect(offer(sequencer, { seqno: 1, kind: "run" })).toEqual({ kind: "opening" });
    expect(sequencer.succeed().late).toEqual(["other1"]);
  });
});

describe("after the end", () => {
  it("takes what continues the old sequence as late", () => {
    const sequencer = ended();
    expect(offer(sequencer, { seqno: 5, kind: "other" })).toEqual({ kind: "late" });
    expect(offer(sequencer, { seqno: 6, kind: "other" })).toEqual({ kind: "late" });
    expect(offer(sequencer, { seqno: 7, kind: "heartbeat" })).toEqual({ kind: "accepted", items: [] });
  });

  it("gives back what had a gap before it", () => {
    const sequencer = new AppendSequencer<string>();
    offer(sequencer, { seqno: 0, kind: "run" });
    offer(sequencer, { seqno: 3, kind: "other" });
    offer(sequencer, { seqno: 2, kind: "other" });
    expect(sequencer.close()).toEqual(["other2", "other3"]);
    expect(sequencer.nextDeadline).toBeUndefined();
  });

  it("counts a heartbeat that continues the old sequence, so that nothing waits behind it", () => {
    const sequencer = ended();
    expect(offer(sequencer, { seqno: 5, kind: "heartbeat" })).toEqual({ kind: "accepted", items: [] });
    expect(offer(sequencer, { seqno: 6, kind: "other" })).toEqual({ kind: "late" });
    expect(offer(sequencer, { seqno: 8, kind: "heartbeat" })).toEqual({ kind: "accepted", items: [] });
    expect(offer(sequencer, { seqno: 9, kind: "other" })).toEqual({ kind: "held" });
    expect(offer(sequencer, { seqno: 7, kind: "other" })).toEqual({ kind: "late", also: ["other9"] });
    expect(sequencer.nextDeadline).toBeUndefined();
    // and none of it is taken for the next generation's
    const { successor } = sequencer.succeed();
    expect(offer(successor, { seqno: 0, kind: "run" })).toEqual({ kind: "accepted", items: ["run0"] });
    for (let seqno = 1; seqno < 9; seqno++)
      expect(offer(successor, { seqno, kind: "other" })).toEqual({ kind: "accepted", items: [`other${seqno}`] });
  });

  it("goes on behind what had a gap before it when it ended", () => {
    const sequencer = new AppendSequencer<string>();
    offer(sequencer, { seqno: 0, kind: "run" });
    offer(sequencer, { seqno: 2, kind: "other" });
    offer(sequencer, { seqno: 3, kind: "heartbeat" });
    expect(sequencer.close()).toEqual(["other2"]);
    expect(offer(sequencer, { seqno: 4, kind: "other" })).toEqual({ kind: "held" });
    expect(offer(sequencer, { seqno: 1, kind: "other" })).toEqual({ kind: "late", also: ["other4"] });
  });

  it("takes a repeat as late when no opener follows", () => {
    const sequencer = ended();
    expect(offer(sequencer, { seqno: 2, kind: "other" }, 100)).toEqual({ kind: "held" });
    expect(offer(sequencer, { seqno: 2, kind: "other" }, 200)).toEqual({ kind: "duplicate", held: true });
    expect(sequencer.expire(60_100)).toEqual([{ item: "other2", late: true }]);
  });

  it.each([0, 1])("applies the next generation from %i in order, whatever overtook its opener", (start) => {
    const messages = stream(start, ["other", "heartbeat", "other"]);
    for (const order of permutations(messages)) {
      let sequencer = ended();
      const applied: string[] = [];
      for (const message of order) {
        let verdict = offer(sequencer, message);
        if (verdict.kind === "opening") {
          const { successor, late } = sequencer.succeed();
          applied.push(...late);
          sequencer = successor;
          verdict = offer(sequencer, message);
        }
        applied.push(...items(verdict));
      }
      expect(applied).toEqual(inOrder(messages));
    }
  });
});

describe("limits", () => {
  it("refuses to hold more messages, more bytes, or numbers further ahead", () => {
    const limits = { ...SEQUENCER_LIMITS, maxHeld: 2, maxHeldBytes: 100, maxAhead: 10 };
    const sequencer = new AppendSequencer<string>(limits);
    const at = (seqno: number, size: number): AppendVerdict<string>["kind"] =>
      sequencer.offer({ seqno, kind: "other", size, item: "" }, 0).kind;
    expect(at(0, 1)).toBe("accepted");
    expect(at(12, 1)).toBe("refused");
    expect(at(11, 1)).toBe("held");
    expect(at(5, 100)).toBe("refused");
    expect(at(5, 99)).toBe("held");
    expect(at(6, 0)).toBe("refused");
    expect(at(1, 1)).toBe("accepted");
  });

  it("answers a heartbeat that runs too far ahead without remembering it", () => {
    const sequencer = new AppendSequencer<string>({ ...SEQUENCER_LIMITS, maxAhead: 1 });
    offer(sequencer, { seqno: 0, kind: "run" });
    expect(offer(sequencer, { seqno: 9, kind: "heartbeat" })).toEqual({ kind: "accepted", items: [] });
    expect(offer(sequencer, { seqno: 9, kind: "heartbeat" })).toEqual({ kind: "accepted", items: [] });
  });
});
