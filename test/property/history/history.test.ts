import fc from "fast-check";
import { expect, test } from "vitest";
import { play } from "./play.ts";
import { checkpoints, nothingDropped, prefixRule, retriesStand, together, validRequests } from "./properties.ts";
import { life } from "./script.ts";

const RUNS = Number(process.env["HISTORY_RUNS"] ?? 2_000);

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
    { numRuns: RUNS },
  );
  expect(calls).toBeGreaterThan(RUNS);
  expect(takeovers).toBeGreaterThan(RUNS / 50);
}, 120_000);
