import { describe, expect, it } from "vitest";
import { connectionKind } from "./sniff.ts";

describe("connectionKind", () => {
  it.each([
    ["", undefined],
    ["P", undefined],
    ["PRI * HTTP/2.", undefined],
    ["PRI * HTTP/2.0", "http2"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"],
    ["POST / HTTP/1.1", "http1"],
    ["PO", "http1"],
    ["PRI * HTTP/1.1", "http1"],
    ["GET / HTTP/1.1", "http1"],
    ["\u0016", "tls"],
    ["\u0016\u0003\u0001", "tls"],
    ["\u0000", "http1"],
  ])("%j is %s", (head, kind) => {
    expect(connectionKind(Buffer.from(head, "latin1"))).toBe(kind);
  });
});
