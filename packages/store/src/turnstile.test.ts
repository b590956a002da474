import { describe, expect, it } from "vitest";
import { Turnstile } from "./turnstile.ts";

describe("a turnstile", () => {
  it("lets one through at a time per key, in order, also behind one that failed", async () => {
    const turnstile = new Turnstile();
    const told: string[] = [];
    const gates = ["a", "b", "c"].map(() => Promise.withResolvers<void>());
    const pass = (name: string, n: number): Promise<string> =>
      turnstile.pass("key", async () => {
        told.push(`${name} in`);
        await gates[n]!.promise;
        told.push(`${name} out`);
        return name;
      });
    const all = [pass("a", 0), pass("b", 1), pass("c", 2)];
    const other = turnstile.pass("other", async () => told.push("other"));
    await other;
    gates[2]!.resolve();
    gates[0]!.resolve();
    expect(await all[0]).toBe("a");
    gates[1]!.reject(new Error("b"));
    await expect(all[1]).rejects.toThrow("b");
    expect(await all[2]).toBe("c");
    expect(told).toEqual(["a in", "other", "a out", "b in", "c in", "c out"]);
  });
});
