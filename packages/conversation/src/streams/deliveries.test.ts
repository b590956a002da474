import type { CheckpointId } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { Deliveries } from "./deliveries.ts";

const [a, b, c] = ["a", "b", "c"] as unknown as readonly [CheckpointId, CheckpointId, CheckpointId];

describe("checkpoints that were delivered", () => {
  test("one is known to a client that is heard a round trip later, and with it all before it", () => {
    const deliveries = new Deliveries();
    deliveries.add(a, 1_000, 105);
    expect([999, 1_079, 1_080].map((now) => deliveries.heardAt(now))).toEqual([0, 0, 1]);
    // on another stream, with a shorter way
    deliveries.add(b, 1_010, 30);
    expect(deliveries.heardAt(1_014)).toBe(0);
    expect(deliveries.heardAt(1_015)).toBe(2);
    expect(deliveries.since(1)).toEqual(new Set([b]));
  });

  test("a client that acknowledged late is not taken for one that is far away; one that was not measured, or is in the same house, is near", () => {
    const deliveries = new Deliveries();
    deliveries.add(a, 1_000, 20_000);
    expect([2_974, 2_975].map((now) => deliveries.heardAt(now))).toEqual([0, 1]);
    deliveries.add(c, 4_000, 0);
    expect(deliveries.heardAt(4_000)).toBe(2);
    deliveries.add(c, 5_000, 25);
    expect(deliveries.heardAt(5_000)).toBe(3);
  });
});
