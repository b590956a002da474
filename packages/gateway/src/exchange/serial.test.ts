import { expect, it } from "vitest";
import { Serial } from "./serial.ts";

it("runs one after the other in order, whatever fails", async () => {
  const serial = new Serial();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = serial.run(async () => {
    await gate.promise;
    log.push("first");
  });
  const second = serial.run(() => Promise.reject(new Error("no")));
  const third = serial.run(async () => {
    log.push("third");
    return 3;
  });
  gate.resolve();
  await first;
  await expect(second).rejects.toThrow("no");
  expect(await third).toBe(3);
  expect(log).toEqual(["first", "third"]);
});
