import fc from "fast-check";
import { expect, test } from "vitest";
import { grew, knownShared, newLine, place } from "./lines.ts";

test("what was grown from an array begins with it; a fork shares nothing that is known beyond it", () => {
  const a = [1];
  const b = [1, 2];
  const c = [1, 2, 3];
  const fork = [1, 9];
  const onFork = [1, 9, 9];
  grew(a, b);
  grew(b, c);
  grew(a, fork);
  grew(fork, onFork);
  expect(knownShared(a, c)).toBe(1);
  expect(knownShared(c, b)).toBe(2);
  expect(knownShared(fork, onFork)).toBe(2);
  expect([knownShared(fork, b), knownShared(onFork, c)]).toEqual([0, 0]);
  expect([knownShared([1], a), knownShared(c, c)]).toEqual([0, 3]);
});

test("entries that are not final are not shared", () => {
  const line = newLine();
  const before = ["a", "b", "open"];
  const after = ["a", "b", "closed", "c"];
  place(before, line, 2);
  place(after, line, 4);
  expect(knownShared(before, after)).toBe(2);
});

test("what is known is true, whatever grows from what", () => {
  const steps = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 })), { maxLength: 40 });
  fc.assert(
    fc.property(steps, (growths) => {
      const all: number[][] = [[]];
      let next = 0;
      for (const [pick, more] of growths) {
        const from = all[pick % all.length]!;
        const longer = from.concat(Array.from({ length: more }, () => (next += 1)));
        grew(from, longer);
        all.push(longer);
      }
      for (const one of all)
        for (const other of all) {
          const shared = knownShared(one, other);
          expect(one.slice(0, shared)).toEqual(other.slice(0, shared));
          expect(shared).toBeLessThanOrEqual(Math.min(one.length, other.length));
        }
    }),
  );
});
