import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { parseBearer, parseHeaders } from "./headers.ts";

const read = (headers: Readonly<Record<string, string>>): ReturnType<typeof parseHeaders> =>
  parseHeaders((name) => (Object.hasOwn(headers, name) ? headers[name] : undefined));

describe("parseHeaders", () => {
  it("reads what a client says", () => {
    expect(
      read({
        authorization: "Bearer abc.def",
        "x-request-id": "r-1",
        "x-original-request-id": "r-0",
        "x-parent-request-id": "p-1",
        "x-parent-agent-tool-call-id": "call_1",
        "x-cursor-client-version": "cli-2026.10.01-e373342",
        "x-cursor-client-type": "cli",
        "x-session-id": "s-1",
        "x-ghost-mode": "true",
        "x-cursor-timezone": "Europe/Vienna",
      }),
    ).toEqual({
      ok: true,
      value: {
        bearer: "abc.def",
        requestId: "r-1",
        originalRequestId: "r-0",
        parent: { requestId: "p-1", callId: "call_1" },
        clientVersion: "cli-2026.10.01-e373342",
        clientType: "cli",
        sessionId: "s-1",
        ghostMode: true,
        timeZone: "Europe/Vienna",
      },
    });
  });

  it("needs none of them", () => {
    expect(read({})).toEqual({ ok: true, value: { ghostMode: false } });
  });

  it.each([
    ["x-parent-request-id", "p-1"],
    ["x-parent-agent-tool-call-id", "call_1"],
  ])("refuses %s on its own (ID-15)", (name, value) => {
    expect(read({ [name]: value })).toEqual({ ok: false, error: { kind: "identity", field: name, reason: "pair" } });
  });

  it.each(["x-request-id", "x-original-request-id", "x-parent-request-id"])("refuses a bad %s", (name) => {
    expect(read({ [name]: "../x" })).toEqual({
      ok: false,
      error: { kind: "identity", field: name, reason: "characters" },
    });
  });

  it("leaves out a note that is too long or not printable", () => {
    expect(read({ "x-cursor-client-version": "v".repeat(129), "x-cursor-client-type": "cli\u00ff" })).toEqual({
      ok: true,
      value: { ghostMode: false },
    });
  });

  it("never throws on random values", () => {
    const names = ["authorization", "x-request-id", "x-parent-request-id", "x-session-id", "x-ghost-mode"];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), fc.string({ unit: "binary" })), (headers) => {
        expect(typeof read(headers).ok).toBe("boolean");
      }),
    );
  });
});

describe("parseBearer", () => {
  it.each([
    ["Bearer abc", "abc"],
    ["bearer   abc ", "abc"],
    ["Basic abc", undefined],
    ["Bearer", undefined],
    ["Bearer a b", undefined],
    [`Bearer ${"x".repeat(9000)}`, undefined],
    [undefined, undefined],
  ])("of %j", (header, token) => {
    expect(parseBearer(header)).toBe(token);
  });
});
