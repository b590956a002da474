import { describe, expect, it } from "vitest";
import { dialectOf, knownEncoding, mediaType } from "./dialect.ts";

describe("dialectOf", () => {
  it.each([
    ["application/connect+proto", true, "connect"],
    ["Application/Connect+Proto; charset=x", false, "connect"],
    ["application/grpc-web", false, "grpcWeb"],
    ["application/grpc-web+proto", true, "grpcWeb"],
    ["application/grpc", true, "grpc"],
    ["application/grpc+proto", true, "grpc"],
    ["application/grpc", false, undefined],
    ["application/connect+json", true, undefined],
    ["application/grpc-web-text", true, undefined],
    ["application/proto", true, undefined],
    ["constructor", true, undefined],
    [undefined, true, undefined],
  ] as const)("%s, HTTP/2 %s: %s", (type, http2, dialect) => {
    expect(dialectOf(type, http2)).toBe(dialect);
  });
});

it("mediaType leaves parameters out", () => {
  expect([mediaType(" A/b ;x=y"), mediaType("")]).toEqual(["a/b", ""]);
});

it.each([
  [undefined, true],
  ["", true],
  ["identity", true],
  ["GZIP ", true],
  ["br", false],
  ["gzip, br", false],
])("knownEncoding of %s is %s", (encoding, known) => {
  expect(knownEncoding(encoding)).toBe(known);
});
