import { gzipSync } from "node:zlib";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  encodeFrame,
  FLAG_COMPRESSED,
  FLAG_END_STREAM,
  FLAG_TRAILERS,
  type Frame,
  framePayload,
  FrameReader,
} from "./frame.ts";
import type { WireError } from "./result.ts";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

function readAll(reader: FrameReader, chunks: readonly Uint8Array[]): readonly Frame[] | WireError {
  const frames: Frame[] = [];
  for (const chunk of chunks) {
    const result = reader.push(chunk);
    if (!result.ok) return result.error;
    frames.push(...result.value.map((frame) => ({ flags: frame.flags, payload: Uint8Array.from(frame.payload) })));
  }
  const end = reader.end();
  return end.ok ? frames : end.error;
}

function split(data: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (data.byteLength + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((from, index) => data.subarray(from, places[index] ?? data.byteLength));
}

const frameArbitrary = fc.record({
  flags: fc.constantFrom(0, FLAG_COMPRESSED),
  payload: fc.uint8Array({ maxLength: 40 }),
});

describe("FrameReader", () => {
  it("cuts a stream that is split in every byte position (TR-12)", () => {
    const frames = [
      { flags: 0, payload: bytes(1, 2, 3) },
      { flags: 0, payload: bytes() },
      { flags: 1, payload: bytes(9) },
    ];
    const stream = Buffer.concat(frames.map((frame) => encodeFrame(frame.flags, frame.payload)));
    for (let first = 0; first <= stream.byteLength; first += 1) {
      for (let second = first; second <= stream.byteLength; second += 1) {
        const chunks = [stream.subarray(0, first), stream.subarray(first, second), stream.subarray(second)];
        expect(readAll(new FrameReader("request"), chunks)).toEqual(frames);
      }
    }
    expect(
      readAll(
        new FrameReader("request"),
        Array.from(stream, (byte) => bytes(byte)),
      ),
    ).toEqual(frames);
  });

  it("gives back what was framed, however it is cut", () => {
    fc.assert(
      fc.property(fc.array(frameArbitrary, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 12 }), (frames, cuts) => {
        const stream = Buffer.concat(frames.map((frame) => encodeFrame(frame.flags, frame.payload)));
        expect(readAll(new FrameReader("request"), split(stream, cuts))).toEqual(frames);
      }),
    );
  });

  it("never throws on random bytes", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.constantFrom("request" as const, "connect" as const, "grpcWeb" as const),
        (data, cuts, dialect) => {
          const result = readAll(new FrameReader(dialect, 1024), split(data, cuts));
          expect(["frames", "frame", "tooLarge"]).toContain("kind" in result ? result.kind : "frames");
        },
      ),
    );
  });

  it("refuses a frame over the limit when its header is there, before its bytes", () => {
    const header = bytes(0, 4, 0, 0, 1); // 64 MiB + 1
    expect(readAll(new FrameReader("request"), [header])).toEqual({
      kind: "tooLarge",
      what: "A frame",
      limit: 64 * 1024 * 1024,
    });
    expect(new FrameReader("request").push(bytes(0, 4, 0, 0, 0)).ok).toBe(true);
    expect(readAll(new FrameReader("request"), [bytes(0, 255, 255, 255, 255)])).toMatchObject({ kind: "tooLarge" });
  });

  it.each([
    ["request", 0x02],
    ["request", 0x80],
    ["request", 0x04],
    ["connect", 0x80],
    ["connect", 0x08],
    ["grpcWeb", 0x02],
    ["grpcWeb", 0x40],
  ] as const)("refuses in the %s dialect the flags %i at the first byte", (dialect, flags) => {
    expect(readAll(new FrameReader(dialect), [bytes(flags)])).toEqual({ kind: "frame", reason: "flags" });
  });

  it("stays failed after an error", () => {
    const reader = new FrameReader("request");
    expect(reader.push(bytes(0xff)).ok).toBe(false);
    expect(reader.push(encodeFrame(0, bytes(1)))).toEqual({ ok: false, error: { kind: "frame", reason: "flags" } });
    expect(reader.end().ok).toBe(false);
  });

  it("says when a stream ends inside a frame", () => {
    const frame = encodeFrame(0, bytes(1, 2, 3));
    for (let length = 1; length < frame.byteLength; length += 1) {
      expect(readAll(new FrameReader("request"), [frame.subarray(0, length)])).toEqual({
        kind: "frame",
        reason: "truncated",
      });
    }
  });

  it("takes nothing after the end-of-stream frame", () => {
    const end = encodeFrame(FLAG_END_STREAM, Buffer.from("{}"));
    expect(readAll(new FrameReader("connect"), [end])).toHaveLength(1);
    expect(readAll(new FrameReader("connect"), [end, encodeFrame(0, bytes(1))])).toEqual({
      kind: "frame",
      reason: "afterEnd",
    });
    const trailers = encodeFrame(FLAG_TRAILERS, Buffer.from("grpc-status:0\r\n"));
    expect(readAll(new FrameReader("grpcWeb"), [trailers, bytes(0)])).toEqual({ kind: "frame", reason: "afterEnd" });
  });
});

describe("framePayload", () => {
  it("decompresses what gzip made", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (data) => {
        const result = await framePayload({ flags: FLAG_COMPRESSED, payload: gzipSync(data) });
        expect(result.ok && Buffer.from(result.value).equals(data)).toBe(true);
      }),
    );
  });

  it("decompresses large payloads too", async () => {
    const data = Buffer.alloc(3 * 1024 * 1024, "agent ");
    const noise = Buffer.from(Array.from({ length: 40_000 }, (_, index) => (index * index * 31) % 251));
    const payload = gzipSync(Buffer.concat([data, noise]));
    const result = await framePayload({ flags: FLAG_COMPRESSED, payload });
    expect(result.ok && Buffer.from(result.value).equals(Buffer.concat([data, noise]))).toBe(true);
  });

  it("stops a bomb at the limit", async () => {
    const payload = gzipSync(Buffer.alloc(2_000_000));
    expect(await framePayload({ flags: FLAG_COMPRESSED, payload }, 1_999_999)).toEqual({
      ok: false,
      error: { kind: "tooLarge", what: "A frame", limit: 1_999_999 },
    });
    expect((await framePayload({ flags: FLAG_COMPRESSED, payload }, 2_000_000)).ok).toBe(true);
  });

  it("says that bytes are not gzip, or end too early", async () => {
    const broken = { ok: false, error: { kind: "frame", reason: "gzip" } };
    expect(await framePayload({ flags: FLAG_COMPRESSED, payload: bytes(1, 2, 3) })).toEqual(broken);
    expect(await framePayload({ flags: FLAG_COMPRESSED, payload: gzipSync("hello").subarray(0, -4) })).toEqual(broken);
  });

  it("takes an empty compressed frame as an empty message", async () => {
    expect(await framePayload({ flags: FLAG_COMPRESSED, payload: bytes() })).toEqual({ ok: true, value: bytes() });
  });
});
