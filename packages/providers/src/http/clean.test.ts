import { describe, expect, it } from "vitest";
import { cleaner } from "./clean.ts";
import { retryAfter } from "./retry-after.ts";

describe("cleaner", () => {
  const clean = cleaner([
    "my-own-secret-key",
    "my-own-secret-key-longer",
    "relay.example.org:8443",
    "relay.example.org",
  ]);

  it.each([
    ["key my-own-secret-key-longer!", "key [hidden]!"],
    ["host relay.example.org:8443 is down", "host [hidden] is down"],
    ["see https://platform.openai.com/account/api-keys.", "see [link]"],
    ["Incorrect API key provided: sk-proj-abc*****xyz.", "Incorrect API key provided: [key]"],
    ["Authorization: Bearer abcdef12345 was sent", "Authorization: Bearer [key] was sent"],
    ["key AIzaSyA1234567890abcdef refused", "key [key] refused"],
    ["in organization org-AbCdEf123456 on tokens", "in organization [account] on tokens"],
    ["<html><head><title>502</title></head><body><h1>Bad\n\tGateway</h1></body></html>", "Bad Gateway"],
    ["a\u0000b\u001b[31mc", "a b [31mc"],
  ])("%s", (message, expected) => {
    expect(clean(message)).toBe(expected);
  });

  it("is at most 500 characters long", () => {
    expect(clean("word ".repeat(1_000))).toHaveLength(500);
  });

  it("does not take a short or empty secret for one", () => {
    expect(cleaner(["", "a"])("banana")).toBe("banana");
  });
});

describe("retryAfter", () => {
  const now = Date.parse("2026-11-30T12:00:00Z");
  it.each([
    [{ "retry-after-ms": "700", "retry-after": "2" }, 700],
    [{ "retry-after-ms": "0.5" }, 0.5],
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after": "Mon, 30 Nov 2026 12:00:07 GMT" }, 7_000],
    [{ "retry-after": "Mon, 30 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-1" }, undefined],
    [{}, undefined],
  ])("%o", (headers, expected) => {
    expect(retryAfter(headers, now)).toBe(expected);
  });
});
