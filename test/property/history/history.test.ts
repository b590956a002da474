import { type CachedRequest, comparePrefix } from "@chartroom/history";
import fc from "fast-check";
import { expect, test } from "vitest";
import { play } from "./play.ts";
import { checkpoints, nothingDropped, prefixRule, retriesStand, together, validRequests } from "./properties.ts";
import { life } from "./script.ts";

const RUNS = Number(process.env["HISTORY_RUNS"] ?? 5_000);
/** A failure tells its seed; given back here it comes again. */
const SEED = process.env["HISTORY_SEED"] === undefined ? {} : { seed: Number(process.env["HISTORY_SEED"]) };

test(`random lives keep the prefix, stay valid, retry to the same bytes and survive on the wire (${RUNS} lives)`, () => {
  let calls = 0;
  let takeovers = 0;
  fc.assert(
    fc.property(life, (events) => {
      const listener = together(prefixRule(), validRequests(), nothingDropped(), retriesStand(), checkpoints());
      play(events, {
        ...listener,
        modelCall(call) {
          calls += 1;
          listener.modelCall(call);
        },
        takenOver(from, to) {
          takeovers += 1;
          listener.takenOver(from, to);
        },
      });
    }),
    { numRuns: RUNS, ...SEED },
  );
  expect(calls).toBeGreaterThan(RUNS);
  expect(takeovers).toBeGreaterThan(RUNS / 50);
}, 120_000);

test("the cache detector says the same whether it knows what was grown from what, or compares it all", () => {
  let broken = 0;
  fc.assert(
    fc.property(life, (events) => {
      let last: CachedRequest | undefined;
      play(events, {
        modelCall({ messages: { messages, sources } }) {
          const now: CachedRequest = { system: "", tools: [], model: "m", messages, sources };
          if (last !== undefined) {
            const known = comparePrefix(last, now);
            expect(known).toEqual(comparePrefix(structuredClone(last), structuredClone(now)));
            if (known.brokenBy !== undefined) broken += 1;
          }
          last = now;
        },
      });
    }),
    { numRuns: 300, ...SEED },
  );
  expect(broken).toBeGreaterThan(50);
}, 60_000);
