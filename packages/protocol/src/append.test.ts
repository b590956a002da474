import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BidiAppendRequestSchema } from "@chartroom/protocols/aiserver/v1/bidi_service";
import { BidiRequestIdSchema } from "@chartroom/protocols/aiserver/v1/shared";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { decodeAppend, decodeRequestId } from "./append.ts";
import { blobId } from "./blob.ts";
import { inflateBody } from "./gzip.ts";
import { parseBlobId, prefetchedBlob } from "./prefetched.ts";

const body = (init: MessageInitShape<typeof BidiAppendRequestSchema>): Uint8Array =>
  toBinary(BidiAppendRequestSchema, create(BidiAppendRequestSchema, init));
const requestId = { requestId: "r-1" };

describe("decodeAppend", () => {
  it("reads hex of both cases, and a sequence number that is not on the wire as 0", () => {
    expect(decodeAppend(body({ requestId, data: "3a00" }))).toEqual({
      ok: true,
      value: { requestId: "r-1", seqno: 0, message: Buffer.from([0x3a, 0]) },
    });
    expect(decodeAppend(body({ requestId, data: "3AfF", appendSeqno: 7n }))).toMatchObject({
      value: { seqno: 7, message: Buffer.from([0x3a, 0xff]) },
    });
  });

  it("reads binary data", () => {
    expect(decodeAppend(body({ requestId, dataBinary: Uint8Array.of(1, 2) }))).toMatchObject({
      value: { message: Uint8Array.of(1, 2) },
    });
  });

  it("reads an empty message", () => {
    expect(decodeAppend(body({ requestId }))).toMatchObject({ ok: true, value: { message: Uint8Array.of() } });
  });

  it.each(["3a0", "3g", "zz", "0x3a", "3a 00", "é"])("refuses the hex %j", (data) => {
    expect(decodeAppend(body({ requestId, data }))).toEqual({ ok: false, error: { kind: "malformed", what: "hex" } });
  });

  it.each([-1n, 2n ** 53n])("refuses the sequence number %s", (appendSeqno) => {
    expect(decodeAppend(body({ requestId, data: "", appendSeqno }))).toMatchObject({
      error: { kind: "malformed", what: "append_seqno" },
    });
  });

  it("refuses a request id that no parser takes, or none", () => {
    expect(decodeAppend(body({ data: "" }))).toMatchObject({
      error: { kind: "identity", field: "request_id", reason: "empty" },
    });
    expect(decodeAppend(body({ requestId: { requestId: ".." } }))).toMatchObject({ error: { reason: "dots" } });
  });

  it("never throws on random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(typeof decodeAppend(bytes).ok).toBe("boolean");
        expect(typeof decodeRequestId(bytes).ok).toBe("boolean");
      }),
    );
  });
});

describe("decodeRequestId", () => {
  it("reads the message that opens a downlink", () => {
    const bytes = toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, { requestId: "r-1" }));
    expect(decodeRequestId(bytes)).toEqual({ ok: true, value: "r-1" });
    expect(decodeRequestId(Uint8Array.of(0x0a, 9))).toEqual({
      ok: false,
      error: { kind: "malformed", what: "BidiRequestId" },
    });
  });
});

describe("inflateBody", () => {
  const data = Buffer.from("x".repeat(500));

  it.each([undefined, "", "identity", " Identity "])("leaves a body of encoding %j", async (encoding) => {
    expect(await inflateBody(data, encoding)).toEqual({ ok: true, value: data });
  });

  it.each(["gzip", "GZIP", "x-gzip"])("decompresses a body of encoding %j", async (encoding) => {
    expect(await inflateBody(gzipSync(data), encoding)).toEqual({ ok: true, value: data });
  });

  it("bounds what comes in and what comes out", async () => {
    expect(await inflateBody(gzipSync(data), "gzip", 499)).toEqual({
      ok: false,
      error: { kind: "tooLarge", what: "The body", limit: 499 },
    });
    expect(await inflateBody(data, undefined, 499)).toMatchObject({ error: { kind: "tooLarge" } });
    expect(await inflateBody(Buffer.alloc(0), "gzip")).toEqual({ ok: true, value: Buffer.alloc(0) });
  });

  it("refuses an encoding that it does not know, and what is not gzip", async () => {
    expect(await inflateBody(data, "br")).toMatchObject({ error: { kind: "malformed" } });
    expect(await inflateBody(data, "gzip")).toEqual({ ok: false, error: { kind: "frame", reason: "gzip" } });
  });
});

describe("prefetchedBlob", () => {
  const data = Buffer.from("content");
  const digest = createHash("sha256").update(data).digest();

  it("finds the digest in either field", () => {
    const blob = { id: blobId(data), data };
    expect(prefetchedBlob(digest, data)).toEqual(blob);
    expect(prefetchedBlob(data, digest)).toEqual(blob);
  });

  it("takes nothing whose hash does not match", () => {
    expect(prefetchedBlob(digest, Buffer.from("other"))).toBeUndefined();
    expect(prefetchedBlob(Buffer.alloc(0), Buffer.alloc(0))).toBeUndefined();
    expect(prefetchedBlob(digest, digest)).toBeUndefined();
  });
});

describe("parseBlobId", () => {
  it("takes 64 lower-case hex digits only", () => {
    const id = blobId(Buffer.from("a"));
    expect(parseBlobId(id)).toBe(id);
    for (const text of ["", id.slice(1), `${id}0`, id.toUpperCase(), "../x"]) expect(parseBlobId(text)).toBeUndefined();
  });
});
