import { encodeFrame } from "@chartroom/protocol";
import { fc, it } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { FrameBatch } from "./frame-batch.ts";

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 50 }),
  fc.integer({ min: 32_700, max: 32_900 }).map((length) => new Uint8Array(length).fill(7)),
);

describe("FrameBatch", () => {
  it.prop([fc.array(payload, { maxLength: 6 }), fc.option(fc.uint8Array({ maxLength: 9 }), { nil: undefined })])(
    "gives the envelopes of its messages in order, and the tail after them",
    (messages, tail) => {
      const batch = new FrameBatch();
      for (const message of messages) batch.add(message);
      const frames = messages.map((message) => encodeFrame(0, message));
      expect(batch.bytes).toBe(frames.reduce((sum, { byteLength }) => sum + byteLength, 0));
      expect(Buffer.concat(batch.take(tail)).equals(Buffer.concat([...frames, tail ?? new Uint8Array()]))).toBe(true);
      expect([batch.bytes, batch.take()]).toEqual([0, []]);
    },
  );

  it("joins small messages into one buffer and does not copy a large one", () => {
    const batch = new FrameBatch();
    const large = new Uint8Array(100_000);
    for (const message of [Uint8Array.of(1), Uint8Array.of(2), large, Uint8Array.of(3)]) batch.add(message);
    const parts = batch.take();
    expect(parts.map(({ byteLength }) => byteLength)).toEqual([6 + 6 + 5, 100_000, 6]);
    expect(parts[1]).toBe(large);
  });
});
