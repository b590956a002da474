import { fromBinary } from "@bufbuild/protobuf";
import type { ConnectCode, Failure, FailureCode, Terminal } from "@chartroom/domain";
import { ErrorDetails_Error as Reason, ErrorDetailsSchema } from "@chartroom/protocols/aiserver/v1/errors";
import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { decodeConnectError, decodeEndStream, endStreamFrame, parseConnectCode } from "./end-stream.ts";
import { connectCode, connectError, errorDetails, httpStatus } from "./failure.ts";
import { FLAG_END_STREAM, FLAG_TRAILERS, type Frame, FrameReader } from "./frame.ts";
import { decodeTrailers, trailersFrame } from "./grpc-web.ts";

const failure = (code: FailureCode, retryable: boolean): Failure => ({
  code,
  title: "Provider Error",
  detail: "Upstream returned 503",
  retryable,
});
const error = (code: FailureCode, retryable = false): Terminal => ({
  kind: "error",
  failure: failure(code, retryable),
});

/** The table of the wire reference (section 12) and of the lifecycle specification (section 8), written down again. */
const EXPECTED: readonly (readonly [FailureCode, ConnectCode, Reason])[] = [
  ["CANCELLED", "canceled", Reason.USER_ABORTED_REQUEST],
  ["SUPERSEDED", "aborted", Reason.USER_ABORTED_REQUEST],
  ["REPLACED", "aborted", Reason.USER_ABORTED_REQUEST],
  ["PARK_EXPIRED", "resource_exhausted", Reason.CUSTOM_MESSAGE],
  ["PARK_CAPACITY", "resource_exhausted", Reason.CUSTOM_MESSAGE],
  ["LOCAL_CAPACITY", "resource_exhausted", Reason.CUSTOM_MESSAGE],
  ["PROVIDER_SERVER", "unavailable", Reason.PROVIDER_ERROR],
  ["PROVIDER_AUTH", "unavailable", Reason.PROVIDER_ERROR],
  ["PROVIDER_REFUSED", "unavailable", Reason.PROVIDER_ERROR],
  ["PROVIDER_INVALID_REQUEST", "invalid_argument", Reason.PROVIDER_ERROR],
  ["PROVIDER_RATE_LIMIT", "resource_exhausted", Reason.RATE_LIMITED],
  ["MODEL_NOT_FOUND", "not_found", Reason.BAD_MODEL_NAME],
  ["CONTEXT_TOO_LONG", "invalid_argument", Reason.CUSTOM_MESSAGE],
  ["INVALID_REQUEST", "invalid_argument", Reason.CUSTOM_MESSAGE],
  ["IDENTITY_CONFLICT", "failed_precondition", Reason.CUSTOM_MESSAGE],
  ["NOT_FOUND", "not_found", Reason.CUSTOM_MESSAGE],
  ["NOT_OWNER", "unavailable", Reason.CUSTOM_MESSAGE],
  ["STORE_UNAVAILABLE", "unavailable", Reason.CUSTOM_MESSAGE],
  ["DRAINING", "unavailable", Reason.CUSTOM_MESSAGE],
  ["UNAUTHENTICATED", "unauthenticated", Reason.NOT_LOGGED_IN],
  ["UNSUPPORTED", "unimplemented", Reason.CUSTOM_MESSAGE],
  ["INTERNAL", "internal", Reason.INTERNAL],
];

function payload(frame: Uint8Array, dialect: "connect" | "grpcWeb", flags: number): Uint8Array {
  const read = new FrameReader(dialect).push(frame);
  const frames: readonly Frame[] = read.ok ? read.value : [];
  expect(frames.map((each) => each.flags)).toEqual([flags]);
  return frames[0]?.payload ?? new Uint8Array();
}

describe("failures", () => {
  it.each(EXPECTED)("%s travels as %s", (code, connect, reason) => {
    expect(connectCode(code)).toBe(connect);
    expect(fromBinary(ErrorDetailsSchema, errorDetails(failure(code, false))).error).toBe(reason);
  });

  it("shows at once what may not be retried", () => {
    const details = (retryable: boolean) =>
      fromBinary(ErrorDetailsSchema, errorDetails(failure("PROVIDER_SERVER", retryable))).details;
    expect(details(true)).toMatchObject({ isRetryable: true, showRequestId: true });
    expect(details(true)?.shouldShowImmediateError).toBeUndefined();
    expect(details(false)).toMatchObject({ isRetryable: false, shouldShowImmediateError: true, showRequestId: true });
  });

  it("writes the details as the reference exchange has them", () => {
    expect(connectError(failure("PROVIDER_SERVER", true))).toEqual({
      code: "unavailable",
      message: "Provider Error",
      details: [
        {
          type: "aiserver.v1.ErrorDetails",
          value: "CDkSKwoOUHJvdmlkZXIgRXJyb3ISFVVwc3RyZWFtIHJldHVybmVkIDUwMyABKAEYAQ",
        },
      ],
    });
  });

  it.each([
    ["unauthenticated", 401],
    ["not_found", 404],
    ["resource_exhausted", 429],
    ["unavailable", 503],
  ] as const)("a unary %s has the status %i", (code, status) => {
    expect(httpStatus(code)).toBe(status);
  });
});

describe("end-of-stream JSON", () => {
  it("is an empty object after success", () => {
    const bytes = payload(endStreamFrame({ kind: "completed" }), "connect", FLAG_END_STREAM);
    expect(Buffer.from(bytes).toString()).toBe("{}");
    expect(decodeEndStream(bytes)).toEqual({ ok: true, value: { kind: "completed" } });
  });

  it("carries an error with its details", () => {
    const bytes = payload(endStreamFrame(error("PROVIDER_SERVER", true)), "connect", FLAG_END_STREAM);
    expect(decodeEndStream(bytes)).toMatchObject({
      ok: true,
      value: {
        kind: "error",
        code: "unavailable",
        message: "Provider Error",
        details: { error: Reason.PROVIDER_ERROR, details: { detail: "Upstream returned 503", isRetryable: true } },
      },
    });
  });

  it.each([
    ["{}", { kind: "completed" }],
    ['{"metadata":{"a":["b"]}}', { kind: "completed" }],
    ['{"error":null}', { kind: "completed" }],
    ['{"error":{"code":"canceled"}}', { kind: "error", code: "canceled", message: "", details: undefined }],
    ['{"error":{"code":"toString"}}', { kind: "error", code: "unknown", message: "", details: undefined }],
    ['{"error":"no"}', { kind: "error", code: "unknown", message: "", details: undefined }],
  ])("reads %s", (text, end) => {
    expect(decodeEndStream(Buffer.from(text))).toEqual({ ok: true, value: end });
  });

  it("takes details of another type, or broken ones, as none", () => {
    const odd = [
      { type: "google.rpc.BadRequest", value: "AA" },
      7,
      { type: "aiserver.v1.ErrorDetails", value: "////" },
    ];
    expect(decodeConnectError({ code: "internal", message: "m", details: odd }).details).toBeUndefined();
  });

  it.each(["", "[]", "1", "{", "\xff"])("says that %j is not one", (text) => {
    expect(decodeEndStream(Buffer.from(text, "latin1"))).toEqual({
      ok: false,
      error: { kind: "malformed", what: "an end-of-stream message" },
    });
  });

  it("never throws on random bytes or JSON", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map(Buffer.from),
          fc.json().map((json) => Buffer.from(`{"error":${json}}`)),
        ),
        (bytes) => {
          expect(typeof decodeEndStream(bytes).ok).toBe("boolean");
        },
      ),
    );
  });

  it("knows only the codes of Connect", () => {
    expect(parseConnectCode("aborted")).toBe("aborted");
    expect(parseConnectCode("constructor")).toBe("unknown");
    expect(parseConnectCode(5)).toBe("unknown");
  });
});

describe("gRPC-Web trailers", () => {
  it("carry success", () => {
    const bytes = payload(trailersFrame({ kind: "completed" }), "grpcWeb", FLAG_TRAILERS);
    expect(Buffer.from(bytes).toString()).toBe("grpc-status: 0\r\n");
    expect(decodeTrailers(bytes)).toEqual({ ok: true, value: { kind: "completed" } });
  });

  it("carry an error with its details", () => {
    const terminal: Terminal = {
      kind: "error",
      failure: { ...failure("LOCAL_CAPACITY", false), title: "Full: 100 %\r\n" },
    };
    const bytes = payload(trailersFrame(terminal), "grpcWeb", FLAG_TRAILERS);
    expect(Buffer.from(bytes).toString().split("\r\n")).toHaveLength(4);
    expect(decodeTrailers(bytes)).toMatchObject({
      ok: true,
      value: {
        kind: "error",
        code: "resource_exhausted",
        message: "Full: 100 %\r\n",
        details: { error: Reason.CUSTOM_MESSAGE, details: { isRetryable: false } },
      },
    });
  });

  it.each([
    ["grpc-status:5\r\n", { kind: "error", code: "not_found", message: "", details: undefined }],
    ["Grpc-Status: 99\ngrpc-message: a%zz", { kind: "error", code: "unknown", message: "a%zz", details: undefined }],
    [
      "grpc-status: 13\r\ngrpc-status-details-bin: ////",
      { kind: "error", code: "internal", message: "", details: undefined },
    ],
  ])("reads %j", (text, end) => {
    expect(decodeTrailers(Buffer.from(text))).toEqual({ ok: true, value: end });
  });

  it.each(["", "grpc-status: x", "status: 0"])("says that %j are not trailers", (text) => {
    expect(decodeTrailers(Buffer.from(text)).ok).toBe(false);
  });

  it("never throws on random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), (bytes, text) => {
        const lines = Buffer.concat([Buffer.from(`grpc-status: 3\r\ngrpc-status-details-bin: ${text}\r\n`), bytes]);
        expect(typeof decodeTrailers(bytes).ok).toBe("boolean");
        expect(typeof decodeTrailers(lines).ok).toBe("boolean");
      }),
    );
  });
});
