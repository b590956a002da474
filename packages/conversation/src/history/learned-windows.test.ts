import type { ModelInfo } from "@chartroom/domain";
import { describe, expect, test } from "vitest";
import { LearnedWindows } from "./learned-windows.ts";

const model = { id: "m", contextWindow: 100_000 } as ModelInfo;

function setup() {
  let now = 0;
  const clock = { now: () => now, setTimeout: () => 0, clearTimeout: () => undefined };
  return { windows: new LearnedWindows(), clock, pass: (ms: number) => void (now += ms) };
}

describe("a window that an overflow taught (CO-11)", () => {
  test("is the limit that the error named, within half of what is configured", () => {
    const { windows, clock } = setup();
    expect(windows.windowOf(model, clock)).toBe(100_000);
    expect(windows.learn(model, 80_000, 95_000, clock)).toBe(80_000);
    expect(windows.windowOf(model, clock)).toBe(80_000);
    expect(windows.learn(model, 3, 79_000, clock)).toBe(50_000);
    expect(windows.learn(model, 200_000, 49_000, clock)).toBe(50_000);
  });

  test("without a number it lies below what was refused", () => {
    const { windows, clock } = setup();
    expect(windows.learn(model, undefined, 90_000, clock)).toBe(81_000);
    expect(windows.learn(model, undefined, 500_000, clock)).toBe(81_000);
  });

  test("is forgotten after a day, and is of one model alone", () => {
    const { windows, clock, pass } = setup();
    windows.learn(model, 80_000, 95_000, clock);
    expect(windows.windowOf({ ...model, id: "other" as never }, clock)).toBe(100_000);
    pass(86_400_000);
    expect(windows.windowOf(model, clock)).toBe(100_000);
  });
});
